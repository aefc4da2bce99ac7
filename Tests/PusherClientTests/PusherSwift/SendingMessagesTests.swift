import NIOCore
import PusherProtocol
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("PusherSwift's sendEvent", .limited)
struct SendingMessagesTests {
    let world = VirtualWorld()

    private var sent: [String] { world.server.receivedMessages().filter { !$0.contains("pusher:") } }

    @Test("sendEvent() sends a message unchanged, with its data as JSON")
    func message() async throws {
        let pusher = try await world.makeConnectedClient()
        pusher.connection.sendEvent(event: "custom:a", data: ["x": 1])
        pusher.connection.sendEvent(event: "custom:b", data: "text")
        await world.run()
        #expect(sent == [#"{"event":"custom:a","data":{"x":1}}"#, #"{"event":"custom:b","data":"text"}"#])
    }

    @Test("sendEvent() with a channel sends a client event with the channel's name (PusherSwift leaves it out)")
    func clientEvent() async throws {
        let pusher = world.makeClient()
        let channel = pusher.subscribe("private-a")
        pusher.connection.sendEvent(event: "client-a", data: [1], channel: channel)
        #expect(channel.unsentEvents.map(\.name) == ["client-a"])
        #expect(channel.unsentEvents.first?.data as? [Int] == [1])
        pusher.connect()
        await world.runUntil { !sent.isEmpty }
        #expect(sent == [#"{"event":"client-a","data":[1],"channel":"private-a"}"#])
        #expect(channel.unsentEvents.isEmpty)
    }

    @Test("the client reports a message that the socket could not write")
    func dyingSocket() async throws {
        let pusher = world.makeClient(transport: DyingTransport(base: world.makeTransport()))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        pusher.connect()
        await world.run()
        pusher.connection.sendEvent(event: "custom:a", data: ["x": 1])
        await world.run()
        #expect(delegate.errors.elements.map(\.clientError.code) == [.notConnected])
        #expect(pusher.statistics.messages.unsent == 1)
    }

    @Test(
        "the client reports an event that it cannot send (PusherSwift sends an empty frame)"
    )
    func refused() async throws {
        let pusher = world.makeClient()
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        pusher.connection.sendEvent(event: "custom:a", data: [:])
        pusher.connect()
        await world.run()
        let channel = pusher.subscribe("private-a")
        pusher.connection.sendEvent(event: "client-a", data: [:])
        pusher.connection.sendEvent(event: "custom:a", data: Double.nan)
        pusher.connection.sendEvent(event: "custom:a", data: [:], channel: channel)
        await world.run()
        #expect(
            delegate.errors.elements.map(\.clientError.code) == [
                .notConnected, .clientEventsNotAllowed, .invalidClientEventData, .invalidEventName,
            ]
        )
        #expect(sent.isEmpty)
        #expect(pusher.statistics.messages.unsent == 3 && pusher.statistics.clientEvents.rejected == 1)
    }
}

/// A transport whose sockets write only the protocol's own messages.
private struct DyingTransport: Transport {
    let base: any Transport

    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        Connection(base: base.open(request, on: eventLoop, receive: receive))
    }

    private struct Connection: TransportConnection {
        let base: any TransportConnection

        func send(_ text: String, promise: EventLoopPromise<Void>?) {
            guard text.contains("pusher:") else {
                promise?.fail(PusherClientError(.connectionClosed, "the socket has ended"))
                return
            }
            base.send(text, promise: promise)
        }

        func flush() { base.flush() }
        func setReading(_ isReading: Bool) { base.setReading(isReading) }
        func close(code: CloseCode, reason: String) { base.close(code: code, reason: reason) }
        func abort() { base.abort() }
    }
}
