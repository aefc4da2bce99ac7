import NIOConcurrencyHelpers
import NIOCore
import SignalRCore
import TestSupport
import TestTraits
import Testing

@testable import SignalRClient

/// Tests of the items that wait for a transport.
@Suite("Uploads", .limited) struct UploadTests {
    /// Opens a transport that accepts the handshake, and takes no item until the test says so.
    private final class HoldingOpener: HubTransportOpener {
        private let promises = NIOLockedValueBox<[EventLoopPromise<Void>?]>([])
        private let items = NIOLockedValueBox(0)

        /// The number of items that have arrived.
        var itemCount: Int { items.withLockedValue { $0 } }

        func open(
            wantsResumption: Bool,
            on eventLoop: any EventLoop,
            receive: @escaping OpenedTransport.Receiver
        ) async throws -> OpenedTransport {
            let transport = HoldingTransport(opener: self, eventLoop: eventLoop, receive: receive)
            return OpenedTransport(transport, TransportInfo(connectionID: nil, transport: .webSockets)) { _ in transport
            }
        }

        fileprivate func hold(_ promise: EventLoopPromise<Void>?) {
            items.withLockedValue { $0 += 1 }
            promises.withLockedValue { $0.append(promise) }
        }

        /// Takes the items that wait.
        func take(_ count: Int = .max, _ result: Result<Void, any Error> = .success(())) {
            let taken = promises.withLockedValue { promises in
                let taken = Array(promises.prefix(count))
                promises.removeFirst(taken.count)
                return taken
            }
            for promise in taken { promise?.completeWith(result) }
        }
    }

    private struct HoldingTransport: HubTransport {
        var opener: HoldingOpener
        var eventLoop: any EventLoop
        var receive: OpenedTransport.Receiver

        func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?) {
            if bytes.starts(with: #"{"type":2"#.utf8) { return opener.hold(promise) }
            promise?.succeed()
            if bytes.starts(with: #"{"protocol""#.utf8) {
                eventLoop.execute { receive(.bytes(Handshake.response(error: nil))) }
            }
        }

        func close() {
            opener.take(.max, .failure(SignalRClientError(.transportClosed, "closed")))
            receive(.closed(nil))
        }

        func abort() {}
    }

    /// Connects, and uploads texts of 1,000 bytes without an end. An item has 1,066 bytes with its quotes and its surcharge.
    private func upload(
        _ bufferSize: Int?,
        _ body: (HoldingOpener, _ produced: @escaping @Sendable () -> Int, HubConnection) async throws -> Void
    ) async throws {
        let (opener, produced) = (HoldingOpener(), NIOLockedValueBox(0))
        var options = HttpConnectionOptions()
        if let bufferSize { options.uploadBufferSize = bufferSize }
        let connection = HubConnectionBuilder.patient.withUrl(url: "http://127.0.0.1", options: options)
            .withOpener(opener).build()
        try await connection.start()
        let text = String(repeating: "x", count: 1_000)
        let stream = AsyncStream<String> {
            produced.withLockedValue { $0 += 1 }
            return text
        }
        try await connection.send(method: "take", arguments: stream)
        try await body(opener, { produced.withLockedValue { $0 } }, connection)
        await connection.stop()
        #expect(try await connection.residueCount() == 0)
    }

    @Test("an upload goes on while less than 64 KiB are unwritten")
    func window() async throws {
        try await upload(nil) { opener, produced, connection in
            // 62 items have more than 65,536 bytes. The next one waits.
            await waitUntil { opener.itemCount >= 62 && produced() >= 63 }
            _ = try await connection.residueCount()
            #expect(opener.itemCount == 62 && produced() == 63)
            opener.take(1)
            await waitUntil { opener.itemCount >= 63 && produced() >= 64 }
            _ = try await connection.residueCount()
            #expect(opener.itemCount == 63 && produced() == 64)
            opener.take()
            await waitUntil { opener.itemCount >= 125 }
        }
    }

    @Test("the window is an option, and an item of any size fits into an empty one")
    func option() async throws {
        try await upload(1) { opener, produced, connection in
            for count in 1...20 {
                await waitUntil { opener.itemCount >= count && produced() >= count + 1 }
                _ = try await connection.residueCount()
                #expect(opener.itemCount == count)
                opener.take()
            }
        }
    }

    @Test("an item that the transport cannot write ends the upload")
    func failure() async throws {
        try await upload(nil) { opener, produced, connection in
            await waitUntil { opener.itemCount >= 62 }
            opener.take(.max, .failure(SignalRClientError(.transportClosed, "broken")))
            let hasEnded = try await turns { try await connection.waitingCallCount() == 0 }
            #expect(hasEnded)
            #expect(produced() <= 64)
        }
    }
}
