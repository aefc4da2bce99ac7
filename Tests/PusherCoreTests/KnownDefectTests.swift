import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Defects that other clients have or had. Each test shows that this client does not have such a defect.
@Suite("Defects of other clients, in the core", .limited)
struct KnownDefectTests {
    @Test("disconnect() cancels a running attempt (PusherSwift #459)")
    func disconnectWhileConnecting() {
        var client = CoreClient()
        client.connect()
        #expect(
            client.disconnect() == [
                "stop attempt", "abort 1", "stop unavailable", "connecting → disconnected", "status disconnected",
            ]
        )
        #expect(client.establish() == [])
        #expect(client.advance(by: .seconds(3_600)) == [])
        #expect(client.state == .disconnected)
    }

    @Test("The client closes the socket at the pong timeout")
    func pongTimeout() {
        var client = CoreClient.connected()
        #expect(client.advance(by: .seconds(120)).wire == ["send 1 ping"])
        let transcript = client.advance(by: .seconds(30))
        #expect(transcript.wire == ["abort 1"])
        #expect(transcript.told == ["report pongTimedOut"])
        #expect(client.state == .reconnecting)
    }

    @Test(
        "The client tries again after a failure before the handshake",
        arguments: [
            PusherClientError.Code.nameResolutionFailed, .connectionFailed, .tlsFailed, .upgradeFailed,
        ]
    )
    func failureBeforeHandshake(code: PusherClientError.Code) {
        var client = CoreClient()
        client.connect()
        let transcript = client.closed(error: PusherClientError(code, "no way"))
        #expect(transcript.told == ["report \(code)"])
        #expect(transcript.changes == ["connecting → disconnected", "disconnected → reconnecting", "ask retry 0"])
        client.decide(.seconds(1))
        #expect(client.advance(by: .seconds(1)).wire == ["open 2"])
    }

    @Test("The client reconnects when a server accepts the connection but sends no greeting")
    func noGreeting() {
        var client = CoreClient()
        client.connect()
        client.opened()
        let transcript = client.advance(by: .seconds(15))
        #expect(transcript.wire == ["abort 1"])
        #expect(transcript.told == ["report connectionTimedOut"])
        #expect(client.state == .reconnecting)
    }

    @Test(
        "The client reconnects after an unusable greeting (pusher-js)",
        arguments: [nil, "{}", "x"]
    )
    func unusableGreeting(data: String?) {
        var client = CoreClient()
        client.connect()
        client.opened()
        let data = data.map { Envelope.Payload.string($0) } ?? .none
        let transcript = client.received(Envelope(event: EventName.connectionEstablished, data: data))
        #expect(transcript.wire == ["abort 1"])
        #expect(client.state == .reconnecting)
    }

    @Test("The client stops after an unlisted 40xx code (PusherSwift)", arguments: [4002, 4010, 4050, 4099])
    func unlistedCode(code: Int) {
        var client = CoreClient.connected()
        let transcript = client.closed(code: CloseCode(rawValue: code))
        #expect(transcript.changes == ["connected → disconnected", "status refused connectionRefused \(code)"])
        #expect(client.advance(by: .seconds(3_600)) == [])
    }

    @Test("The client accepts subscription_succeeded without data (soketi)")
    func successWithoutData() throws {
        var client = CoreClient.connected()
        client.subscribe("orders")
        let frame = #"{"event":"pusher_internal:subscription_succeeded","channel":"orders"}"#
        #expect(try client.received(frame) == ["subscribed orders"])
    }

    @Test("The client handles a pusher:error whose data is a string (Reverb)")
    func stringError() throws {
        let frame = #"{"event":"pusher:error","data":"{\"code\":4001,\"message\":\"unknown\"}"}"#
        var client = CoreClient.connected()
        #expect(try client.received(frame) == ["report serverError 4001"])
        var connecting = CoreClient()
        connecting.connect()
        connecting.opened()
        let transcript = try connecting.received(frame)
        #expect(transcript.wire == ["abort 1"])
        #expect(transcript.changes == ["connecting → disconnected", "status refused connectionRefused 4001"])
    }

    @Test("The client answers pusher:ping", arguments: [Envelope.Payload.none, .string("{}"), .json("{}")])
    func ping(data: Envelope.Payload) {
        var client = CoreClient.connected()
        #expect(client.received(Envelope(event: EventName.ping, data: data)) == ["send 1 pong"])
    }

    @Test("The client subscribes once if the app subscribes again as soon as the client is connected")
    func subscribingWhenConnected() {
        var client = CoreClient()
        client.subscribe("orders")
        client.connect()
        #expect(client.establish().wire == ["send 1 subscribe orders"])
        #expect(client.subscribe("orders").wire == [])
        client.received(.success("orders"))
        #expect(client.subscribe("orders").wire == [])
    }

    @Test("A channel that was unsubscribed while pending stays unsubscribed after a reconnect (pusher-js)")
    func unsubscribedWhilePending() {
        var client = CoreClient.connected()
        client.subscribe("orders")
        #expect(client.unsubscribe("orders").wire == [])
        client.closed()
        client.decide(.zero)
        #expect(client.advance(by: .zero).wire == ["open 2"])
        #expect(client.establish().wire == [])
    }

    @Test("The client ignores a late close of an old socket")
    func lateClose() {
        var client = CoreClient.connected()
        client.disconnect()
        #expect(client.connect().wire == ["abort 1", "open 2"])
        client.establish()
        #expect(client.closed(1, code: 1000) == [])
        #expect(client.closed(1) == [])
        #expect(client.state == .connected)
    }

    @Test("An error and a close of one socket lead to one attempt (PusherSwift #459)")
    func errorThenClose() {
        var client = CoreClient.connected()
        client.received(.error(4200))
        let error = PusherClientError(.connectionClosed, "reset by peer")
        #expect(client.closed(1, error: error).changes.last == "ask retry 0")
        #expect(client.closed(1, code: 1006) == [])
        #expect(client.decide(.seconds(1)).timers == ["set retry 1s"])
        #expect(client.closed(1, error: error) == [])
        #expect(client.advance(by: .seconds(1)).wire == ["open 2"])
        #expect(client.machine.connection.retryCount == 1)
    }

    @Test("A subscription that fails without an answer from the server does not count as activity (PusherSwift)")
    func ownFailure() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(100))
        client.subscribe("private-a")
        client.authorized("private-a", .failure(AuthorizationError(.noMethod, "no method")))
        client.subscribe("no name")
        #expect(client.advance(by: .seconds(20)).wire == ["send 1 ping"])
        client.closed(code: 4001)
        client.subscribe("no other name")
        #expect(client.ledger.timers.isEmpty)
    }

    @Test("The client sends waiting client events after a success without data (PusherSwift #446, #434)")
    func successWithoutDataSendsWhatWaits() throws {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        client.authorized("private-a")
        client.trigger("client-x", on: "private-a")
        let frame = #"{"event":"pusher_internal:subscription_succeeded","channel":"private-a"}"#
        #expect(try client.received(frame) == ["subscribed private-a", "send 1 client-x on private-a"])
    }
}
