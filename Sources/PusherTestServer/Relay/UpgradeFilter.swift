import NIOCore

/// A filter that looks for a WebSocket upgrade in the first request of a connection.
struct UpgradeFilter {
    enum Decision {
        case undecided
        /// The relay must pass on these bytes. They are all bytes that the client has sent so far.
        case allowed(ByteBuffer)
        case blocked(PusherTestRelay.UpgradeFault)
    }

    private let fault: PusherTestRelay.UpgradeFault
    private var head = ByteBuffer()

    private static let maximumHeadLength = 65_536
    private static let headEnd = Array("\r\n\r\n".utf8)

    init(_ fault: PusherTestRelay.UpgradeFault) { self.fault = fault }

    mutating func read(_ bytes: ByteBuffer) -> Decision {
        head.writeImmutableBuffer(bytes)
        let view = head.readableBytesView
        // Bytes that do not begin with a method are not a request. TLS begins with the byte 22.
        guard let first = view.first, UInt8(ascii: "A")...UInt8(ascii: "Z") ~= first else { return .allowed(head) }
        guard let end = view.firstRange(of: Self.headEnd) else {
            return view.count > Self.maximumHeadLength ? .allowed(head) : .undecided
        }
        let lines = String(decoding: view[..<end.lowerBound], as: UTF8.self).lowercased().split(separator: "\r\n")
        let isUpgrade = lines.contains { line in
            line.hasPrefix("upgrade:") && line.dropFirst("upgrade:".count).contains("websocket")
        }
        return isUpgrade ? .blocked(fault) : .allowed(head)
    }
}
