import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("A hostile or buggy server", .limited, .overEachTransport)
struct HostileServerTests {
    let world = VirtualWorld()

    @Test("by default, the log warns about errors without a channel and malformed messages, at most once a minute")
    func warnings() async throws {
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.warning)))
        for _ in 1...5 {
            world.server.sendText("no JSON")
            world.server.sendText(#"{"event":"pusher:error","data":"over quota"}"#)
        }
        await world.run()
        #expect(lines.messages.count == 2)
        #expect(lines.messages.contains { $0.contains("a message that the client cannot read") })
        #expect(lines.messages.contains { $0.contains("The server reported an error") && $0.contains("over quota") })
        await world.advance(by: .seconds(61))
        world.server.sendText("no JSON")
        await world.run()
        #expect(lines.messages.count == 3)
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test(
        "the client reports a frame that is not a message, and delivers the next message",
        arguments: [
            "", " ", "{", "[]", "null", "17", #""text""#, "{}", #"{"event":5}"#, #"{"event":"e","data":}"#, "\u{0}",
            LongText(repeating: "[", count: 100_000), #"{"event":"e"}{"event":"e"}"#,
        ] as [LongText]
    )
    func malformed(text: LongText) async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let events = Log<String>()
        pusher.bind { events.append($0.eventName) }
        world.server.sendText(text.text)
        world.server.sendEvent("next")
        await world.run()
        #expect(delegate.errors.elements.map(\.clientError.code) == [.malformedMessage])
        #expect(events.elements == ["next"])
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("the client reports a binary message and stays connected", .ofWebSocketOnly)
    func binary() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        world.server.sendBinary([0, 255, 7])
        await world.run()
        #expect(delegate.errors.elements.map(\.clientError.code) == [.malformedMessage])
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test(
        "protocol events with invalid data do not affect the connection or a subscription",
        arguments: [
            "pusher:connection_established", "pusher:error", "pusher:ping", "pusher:pong", "pusher:subscription_error",
            "pusher_internal:subscription_succeeded", "pusher_internal:subscription_count",
            "pusher_internal:subscription_error", "pusher_internal:member_added",
        ]
    )
    func senselessData(event: String) async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.run()
        let values = [
            "null", "1", "-1e999", "[]", "{}", #""""#, #""{""#, #"{"code":"x","message":[]}"#, #"{"code":1e300}"#,
            #"{"subscription_count":-1}"#, #"{"subscription_count":1e30}"#, #"{"socket_id":7}"#,
        ]
        for value in values {
            world.server.sendText(#"{"event":"\#(event)","data":\#(value)}"#)
            world.server.sendText(#"{"event":"\#(event)","channel":"orders","data":\#(value)}"#)
            world.server.sendText(#"{"event":"\#(event)","channel":7,"data":\#(value)}"#)
        }
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
        #expect(channel.subscribed)
        #expect(channel.subscriptionCount == nil)
    }

    @Test(
        "the client reports a pusher:error whose data is an object or a string (PusherSwift 447)",
        arguments: [
            #"{"code":4301,"message":"too fast"}"#, #""{\"code\":4301,\"message\":\"too fast\"}""#,
        ]
    )
    func errorForms(data: String) async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        world.server.sendText(#"{"event":"pusher:error","data":\#(data)}"#)
        await world.run()
        #expect(delegate.errors.elements.map(\.code) == [4301])
        #expect(delegate.errors.elements.map(\.message) == ["too fast"])
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("the client reports an error and a close with the same code once (pusher-js 744)")
    func errorThenClose() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        world.server.sendText(#"{"event":"pusher:error","data":{"code":4200,"message":"restarting"}}"#)
        world.server.closeConnections(code: 4200)
        await world.run()
        #expect(delegate.errors.elements.map(\.code) == [4200])
    }

    @Test("the client reports a close long after an error with the same code")
    func errorLongBeforeClose() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        world.server.sendText(#"{"event":"pusher:error","data":{"code":4200,"message":"unknown message"}}"#)
        await world.run()
        await world.advance(by: .seconds(10))
        world.server.closeConnections(code: 4200)
        await world.run()
        #expect(delegate.errors.elements.map(\.code) == [4200, 4200])
    }

    @Test(
        "the client reconnects if the first message is no valid greeting (pusher-js hangs)",
        arguments: [
            #"{"event":"news","data":{}}"#, #"{"event":"pusher:connection_established"}"#,
            #"{"event":"pusher:connection_established","data":{"socket_id":""}}"#, "garbage",
            // In a request, these socket ids would start another header field or form field.
            #"{"event":"pusher:connection_established","data":{"socket_id":"1.1\r\nX-Admin: 1"}}"#,
            #"{"event":"pusher:connection_established","data":{"socket_id":"1.1&channel_name=private-admin"}}"#,
        ]
    )
    func badGreeting(text: String) async throws {
        world.server.failConnections(1, with: .firstMessage(text))
        let pusher = world.makeClient()
        pusher.connect()
        await world.advance(by: .seconds(15))
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test(
        "the client accepts a greeting without a valid activity timeout (pusher-js hangs)",
        arguments: [
            #"{"socket_id":"1.2"}"#, #"{"socket_id":"1.2","activity_timeout":0}"#,
            #"{"socket_id":"1.2","activity_timeout":"soon"}"#, #"{"socket_id":"1.2","activity_timeout":1e99}"#,
        ]
    )
    func greetingForms(data: String) async throws {
        world.server.failConnections(
            1,
            with: .firstMessage(#"{"event":"pusher:connection_established","data":\#(data)}"#)
        )
        let pusher = try await world.makeConnectedClient()
        #expect(pusher.connection.socketId == "1.2")
    }

    @Test("the client ignores a second greeting")
    func secondGreeting() async throws {
        let pusher = try await world.makeConnectedClient()
        let socketID = pusher.connection.socketId
        world.server.sendEvent("pusher:connection_established", data: #"{"socket_id":"9.9","activity_timeout":1}"#)
        await world.run()
        #expect(pusher.connection.socketId == socketID)
    }

    @Test("the client unsubscribes a channel that the server confirms without a request")
    func unwantedSuccess() async throws {
        let pusher = try await world.makeConnectedClient()
        world.server.sendEvent("pusher_internal:subscription_succeeded", channel: "surprise")
        await world.run()
        #expect(
            world.server.receivedMessages().last == #"{"event":"pusher:unsubscribe","data":{"channel":"surprise"}}"#
        )
        #expect(pusher.connection.channels.channels.isEmpty)
    }

    @Test("the client reconnects after bytes that are not a WebSocket frame", .ofWebSocketOnly)
    func rawBytes() async throws {
        let pusher = try await world.makeConnectedClient()
        world.server.sendRawBytes(Array("HTTP/1.1 500 oops\r\n\r\n".utf8))
        await world.run()
        #expect(pusher.connection.connectionState == .reconnecting)
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("a payload that is nested too deeply does not affect the connection or a subscription")
    func deepPayload() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.run()
        let deep = String(repeating: #"{"a":"#, count: 500) + "1" + String(repeating: "}", count: 500)
        for event in ["pusher:error", "pusher_internal:subscription_count"] {
            world.server.sendText(#"{"event":"\#(event)","channel":"orders","data":\#(deep)}"#)
            world.server.sendEvent(event, data: deep, channel: "orders")
        }
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
        #expect(channel.subscribed)
    }

    @Test("errors contain a shortened server message without signatures")
    func errorTexts() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let texts = [
            String(repeating: "x", count: 100_000),
            "Invalid signature: Expected HMAC SHA256 hex digest of 1.1:private-a, but got 0123abcd",
        ]
        for text in texts {
            world.server.sendText(#"{"event":"pusher:error","data":{"code":null,"message":"\#(text)"}}"#)
        }
        world.server.sendText(#"{"event":"pusher:error","data":{"code":4301,"secret":"0123abcd"}}"#)
        await world.run()
        #expect(delegate.errors.elements.map(\.message.utf8.count).allSatisfy { $0 <= 1_000 })
        #expect(delegate.errors.count == 3)
        #expect(!delegate.errors.elements.contains { $0.description.contains("0123abcd") })
    }

    @Test("the log contains payloads only at the trace level, even if they cannot be decoded")
    func payloadsStayOutOfTheLog() async throws {
        struct Card: Decodable, Sendable { let number: Int }
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.debug)))
        let channel = pusher.subscribe("orders")
        let observation = channel.observe(named: "paid", as: Card.self) { _ in }
        defer { observation.cancel() }
        await world.run()
        try world.server.publish(event: "paid", data: #"{"number":"4111-1111"}"#, to: "orders")
        world.server.sendText("4111-1111")
        await world.run()
        #expect(lines.messages.contains { $0.contains("undecodableData") })
        #expect(!lines.messages.contains { $0.contains("4111") })
    }
}
