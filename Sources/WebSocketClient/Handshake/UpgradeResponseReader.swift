package import NIOCore
import NIOHTTP1
import NIOWebSocket
import RealtimeNetworking
import RealtimePrimitives

/// Reads the answer to an ``UpgradeRequest``, and decides whether the server has accepted the upgrade. The answer can
/// arrive in pieces of any size.
///
/// The reader keeps at most 16 KiB of the header, and the start of a refusal's body. The reader leaves the bytes after
/// an accepted upgrade in the buffer, because these bytes are WebSocket frames.
package final class UpgradeResponseReader {
    private let request: UpgradeRequest
    private var line = ByteBuffer()
    private var readBytes = 0
    private var status: Int?
    private var headers = HTTPHeaders()
    /// The error for a server that refused the upgrade; nil until the status line has arrived.
    private var refused: WebSocketError?
    /// The body of a refusal; nil until its header is complete.
    private var body: ResponseBody?
    private var hasTakenRefusal = false
    /// The subprotocol that the server chose; nil until the answer is complete, and if the server chose none.
    package private(set) var subprotocol: String?
    #if Compression
        private let compression: WebSocketCompression?
        /// The parameters of the compression; nil until the answer is complete, and if the server does not compress.
        package private(set) var agreement: DeflateAgreement?
    #endif

    private static let maximumSize = 16_384

    #if Compression
        /// - Parameter compression: The compression that the request offers. Default: none.
        package init(_ request: UpgradeRequest, compression: WebSocketCompression? = nil) {
            self.request = request
            self.compression = compression
        }
    #else
        package init(_ request: UpgradeRequest) {
            self.request = request
        }
    #endif

    /// Whether the server has refused the upgrade.
    var isRefused: Bool { refused != nil }

    /// The text of the upgrade request.
    package var requestText: String { request.text }

    /// The error for a server that refused the upgrade, with the part of the response that has arrived; nil if the
    /// server has not refused the upgrade.
    package var refusal: WebSocketError? {
        guard var error = refused, let status = error.httpStatus else { return nil }
        error.response = WebSocketResponse(
            status: status,
            headers: HTTPHeaderFields(headers.map { HTTPHeader(name: $0.name, value: $0.value) }),
            body: body?.bytes ?? []
        )
        let reasons = headers["sec-websocket-extensions"] + [error.response?.bodyText ?? ""]
        if !request.offersCompression, reasons.contains(where: { $0.contains("permessage-deflate") }) {
            error.message += " The server requires compression (permessage-deflate)."
        }
        return error
    }

    /// Returns a refusal without its body, once, as soon as its header is complete.
    func takeRefusal() -> WebSocketResponse? {
        guard body != nil, !hasTakenRefusal, var response = refusal?.response else { return nil }
        hasTakenRefusal = true
        response.body = []
        return response
    }

    /// Removes the bytes of the answer from the buffer. Returns true when the answer is complete and valid.
    ///
    /// The method throws as soon as the bytes show that the answer is invalid. If the server refused the upgrade, the
    /// method throws when the response is complete. The caller limits the time: see ``refusal``.
    package func read(_ bytes: inout ByteBuffer) throws(WebSocketError) -> Bool {
        do throws(WebSocketError) {
            return try readAnswer(&bytes)
        } catch {
            // The reason of the refusal helps more than a fault in the rest of the response.
            throw refusal ?? error
        }
    }

    private func readAnswer(_ bytes: inout ByteBuffer) throws(WebSocketError) -> Bool {
        while bytes.readableBytes > 0 {
            if body != nil {
                body?.read(&bytes)
                try checkBody()
                continue
            }
            let rest = bytes.readableBytesView
            let lineEnd = rest.firstIndex(of: UInt8(ascii: "\n"))
            let length = lineEnd.map { rest.distance(from: rest.startIndex, to: $0) + 1 } ?? rest.count
            let fittingLength = min(length, Self.maximumSize - readBytes)
            readBytes += fittingLength
            if let part = bytes.readSlice(length: fittingLength) { line.writeImmutableBuffer(part) }
            if status == nil, !"HTTP/1.".utf8.elementsEqual(line.readableBytesView.prefix(7)) {
                // A server with another protocol may never send a line break, so the reader checks the first bytes at
                // once.
                guard "HTTP/1.".utf8.starts(with: line.readableBytesView) else {
                    let isTLS = line.readableBytesView.first.map(Self.beginsTLS) ?? false
                    throw Self.malformed(
                        isTLS ? "because it is TLS, and the client does not use TLS (useTLS)" : "because it is not HTTP"
                    )
                }
            }
            // The reader checks the first bytes before the size. In the other order, the error would depend on how the
            // answer is split.
            guard fittingLength == length else {
                throw Self.malformed("because its header is larger than \(Self.maximumSize) bytes")
            }
            if lineEnd != nil, try endLine() { return true }
        }
        return false
    }

    /// Whether the byte is a content type of the TLS records that a server can begin with: alert or handshake (RFC
    /// 8446, 5.1). HTTP cannot begin with these bytes, because they are control characters.
    private static func beginsTLS(_ byte: UInt8) -> Bool { byte == 21 || byte == 22 }

    /// Handles a complete line. Returns true after the last line of the answer.
    private func endLine() throws(WebSocketError) -> Bool {
        var text = String(buffer: line)
        line.clear()
        text.removeLast()
        // Swift treats CR LF as one character, so the CR was removed with the LF.
        guard let status else {
            self.status = try readStatus(text)
            return false
        }
        guard text.isEmpty else {
            try addHeader(text)
            return false
        }
        if status == 101 {
            try check()
            return true
        }
        if refused != nil {
            body = ResponseBody(of: status, headers)
            try checkBody()
            return false
        }
        // Answers with status 100 or 103, for example, precede the final answer.
        self.status = nil
        headers = HTTPHeaders()
        return false
    }

    /// Throws the refusal if its body is complete.
    private func checkBody() throws(WebSocketError) {
        if body?.isComplete == true, let refusal { throw refusal }
    }

    private func readStatus(_ line: String) throws(WebSocketError) -> Int {
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].utf8.count == 8, parts[1].utf8.count == 3, let status = Int(parts[1]),
            (100...999).contains(status)
        else { throw Self.malformed("because it does not begin with an HTTP status line") }
        if status / 100 != 1 {
            // Escapes are longer than the characters that they replace, so the code shortens the text again.
            let reason =
                parts.count > 2
                ? " " + String(parts[2].prefix(100)).escapingControls.prefix(fittingUTF8Bytes: 100) : ""
            refused = WebSocketError(
                .upgradeFailed,
                "WebSocket upgrade failed: the server answered with HTTP status \(status)\(reason).",
                httpStatus: status
            )
        }
        return status
    }

    private func addHeader(_ line: String) throws(WebSocketError) {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
            throw Self.malformed("because it has a header line without a name")
        }
        let name = line[..<colon]
        guard name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Self.malformed("because it has a header name with spaces")
        }
        let value = line[line.utf8.index(after: colon)...]
        headers.add(name: String(name), value: value.trimmingHTTPWhitespace)
    }

    private func check() throws(WebSocketError) {
        guard headers[canonicalForm: "upgrade"].contains(where: { $0.lowercased() == "websocket" }),
            headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "upgrade" })
        else { throw Self.malformed("because it does not upgrade to WebSocket (HTTP status 101)") }
        let upgrader = NIOWebSocketClientUpgrader(requestKey: request.key) { channel, _ in
            channel.eventLoop.makeSucceededVoidFuture()
        }
        let head = HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: headers)
        guard upgrader.shouldAllowUpgrade(upgradeResponse: head) else {
            throw Self.malformed("because its Sec-WebSocket-Accept does not match the request (HTTP status 101)")
        }
        try checkExtensions()
        let chosen = headers["sec-websocket-protocol"]
        guard chosen.count < 2, chosen.allSatisfy(request.subprotocols.contains) else {
            throw Self.malformed("because it chose a subprotocol that was not offered (HTTP status 101)")
        }
        subprotocol = chosen.first
    }

    private func checkExtensions() throws(WebSocketError) {
        #if Compression
            if let compression {
                do throws(DeflateAgreement.Refusal) {
                    agreement = try DeflateAgreement(headers["sec-websocket-extensions"], to: compression)
                } catch {
                    throw Self.malformed("because \(error.reason) (HTTP status 101)")
                }
                return
            }
        #endif
        guard headers[canonicalForm: "sec-websocket-extensions"].allSatisfy(\.isEmpty) else {
            throw Self.malformed("because it uses an extension that was not offered (HTTP status 101)")
        }
    }

    private static func malformed(_ what: String) -> WebSocketError {
        WebSocketError(.upgradeFailed, "WebSocket upgrade failed: the server's answer is invalid, \(what).")
    }
}

extension Substring {
    /// The text without spaces and tabs at its ends.
    var trimmingHTTPWhitespace: String {
        var text = self
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
