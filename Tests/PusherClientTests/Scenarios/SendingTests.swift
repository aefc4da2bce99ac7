import ClientTestSupport
import Logging
import PusherEncryption
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Client events", .limited, .overEachTransport)
struct SendingTests {
    let world = VirtualWorld()

    private var sent: [String] { world.server.receivedMessages().filter { $0.contains(#""event":"client-"#) } }

    private func join(
        _ name: String,
        _ options: PusherClientOptions = .virtual()
    ) async throws -> (Pusher, PusherChannel) {
        let pusher = try await world.makeConnectedClient(options)
        let channel = pusher.subscribe(name)
        await world.runUntil { channel.subscribed }
        return (pusher, channel)
    }

    @Test("a client event goes to the other subscribers, with its channel and its data as JSON")
    func sending() async throws {
        let (_, alice) = try await join("private-chat")
        let (_, bob) = try await join("private-chat")
        let events = Log<String>()
        alice.bind { events.append("alice \($0.data ?? "")") }
        bob.bind { events.append("bob \($0.data ?? "")") }
        alice.trigger(eventName: "client-typing", data: ["on": true])
        await world.run()
        #expect(sent == [#"{"event":"client-typing","data":{"on":true},"channel":"private-chat"}"#])
        #expect(events.elements == [#"bob {"on":true}"#])
    }

    @Test("the log warns of a rejected client event, once a minute for each event")
    func refusalInTheLog() async throws {
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.notice)))
        let (news, chat) = (pusher.subscribe("news"), pusher.subscribe("private-chat"))
        await world.runUntil { news.subscribed && chat.subscribed }
        for _ in 1...3 {
            news.trigger(eventName: "client-a", data: "1")
            chat.trigger(eventName: "typing", data: "1")
            chat.trigger(eventName: "client-b", data: [Double.nan])
            chat.trigger(eventName: "client-c", data: String(repeating: "x", count: 20_000))
        }
        await world.run()
        let reasons = ["the channel is public", "Invalid client event name", "cannot be written as JSON", "bytes, and"]
        #expect(lines.messages.count == reasons.count)
        for (line, reason) in zip(lines.messages, reasons) { #expect(line.contains(reason)) }
        await world.advance(by: .seconds(60))
        news.trigger(eventName: "client-a", data: "1")
        await world.run()
        #expect(lines.messages.last?.contains(#""pusher.omitted": 2"#) == true)
    }

    @Test("a client event on a presence channel has the sender's id")
    func userID() async throws {
        let (_, ada) = try await join("presence-chat", .virtual(user: "ada"))
        let (_, bob) = try await join("presence-chat", .virtual(user: "bob"))
        let events = Log<String?>()
        bob.bind(eventName: "client-wave") { events.append($0.userId) }
        ada.trigger(eventName: "client-wave", data: "hello")
        await world.run()
        #expect(events.elements == ["ada"])
    }

    @Test("client events wait for the subscription, and the client sends them in order")
    func queue() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("private-chat")
        for number in 1...3 { channel.trigger(eventName: "client-a", data: number) }
        #expect(sent.isEmpty)
        await world.runUntil { sent.count == 3 }
        #expect(sent.compactMap { $0.split(separator: #""data":"#).last?.first } == ["1", "2", "3"])
    }

    @Test("the client sends at most ten client events in a second, and loses none")
    func pace() async throws {
        let (_, channel) = try await join("private-chat")
        let (_, other) = try await join("private-chat")
        let events = Log<String>()
        other.bind(eventName: "client-a") { events.append($0.data ?? "") }
        try await world.atOnce {
            for number in 1...25 { channel.trigger(eventName: "client-a", data: number) }
        }
        await world.run()
        #expect(sent.count == 10)
        await world.advance(by: .milliseconds(1_100))
        #expect(sent.count == 20)
        await world.advance(by: .milliseconds(1_100))
        await world.run()
        #expect(events.elements == (1...25).map { "\($0)" })
    }

    @Test("send() encodes its value, and returns when the event is written")
    func awaited() async throws {
        struct Typing: Encodable { var user: String }
        let (_, channel) = try await join("private-chat")
        try await world.complete { try await channel.send("client-typing", data: Typing(user: "ada")) }
        await world.run()
        #expect(sent == [#"{"event":"client-typing","data":{"user":"ada"},"channel":"private-chat"}"#])
    }

    @Test("the client can send the data as a string, for old servers")
    func stringEncoding() async throws {
        let (_, channel) = try await join("private-chat", .virtual(clientEventEncoding: .string))
        channel.trigger(eventName: "client-a", data: ["b": 1])
        channel.trigger(eventName: "client-a", data: "text")
        await world.run()
        #expect(
            sent == [
                #"{"event":"client-a","data":"{\"b\":1}","channel":"private-chat"}"#,
                #"{"event":"client-a","data":"text","channel":"private-chat"}"#,
            ]
        )
    }

    private static let refusals: [(String, String, PusherClientError.Code)] = {
        let refusals: [(String, String, PusherClientError.Code)] = [
            ("typing", "private-chat", .invalidEventName),
            ("client-" + String(repeating: "a", count: 200), "private-chat", .invalidEventName),
            ("client-a", "chat", .clientEventsNotAllowed), ("client-a", "cache-chat", .clientEventsNotAllowed),
            ("client-a", "private-encrypted-chat", .clientEventsNotAllowed),
            ("client-a", "private-encrypted-cache-chat", .clientEventsNotAllowed),
        ]
        // Without libsodium, encrypted channels cannot be subscribed.
        return refusals.filter { SecretBox.isAvailable || !$0.1.hasPrefix("private-encrypted-") }
    }()

    @Test(
        "a client event that cannot be sent causes an error, not an incomplete frame (PusherSwift)",
        arguments: refusals
    )
    func refused(event: String, name: String, code: PusherClientError.Code) async throws {
        let (pusher, channel) = try await join(name)
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        channel.trigger(eventName: event, data: "x")
        await world.run()
        #expect(delegate.errors.elements.map(\.clientError.code) == [code])
        #expect(delegate.errors.elements.first?.clientError.channelName == name)
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await channel.send(event, data: "x") }
        }
        #expect(error?.code == code)
        #expect(sent.isEmpty)
    }

    @Test("data that JSON cannot represent causes an error, not an empty frame (PusherSwift)")
    func invalidData() async throws {
        let (pusher, channel) = try await join("private-chat")
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        channel.trigger(eventName: "client-a", data: Double.nan)
        channel.trigger(eventName: "client-a", data: pusher)
        channel.trigger(eventName: "client-a", data: String(repeating: "a", count: 10_240))
        await world.run()
        #expect(
            delegate.errors.elements.map(\.clientError.code) == [
                .invalidClientEventData, .invalidClientEventData, .clientEventTooBig,
            ]
        )
        #expect(sent.isEmpty)
    }

    @Test("send() fails without a subscription")
    func notSubscribed() async throws {
        let pusher = world.makeClient()
        let channel = pusher.subscribe("private-chat")
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await channel.send("client-a", data: 1) }
        }
        #expect(error?.code == .notSubscribed)
        pusher.unsubscribe("private-chat")
        let other = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await channel.send("client-a", data: 1) }
        }
        #expect(other?.code == .unsubscribed)
    }

    @Test("the channel reports the server's rejection of a client event")
    func rejected() async throws {
        let limits = PusherClientOptions.Limits(clientEventsPerSecond: nil)
        let (pusher, channel) = try await join("private-chat", .virtual(limits: limits))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let events = Log<String>()
        channel.bind(eventName: "pusher:error") { events.append($0.data ?? "") }
        try await world.atOnce {
            for number in 1...11 { channel.trigger(eventName: "client-a", data: number) }
        }
        await world.run()
        #expect(sent.count == 11)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.clientEventRejected])
        #expect(delegate.errors.elements.first?.clientError.channelName == "private-chat")
        #expect(delegate.errors.elements.first?.code == 4301)
        #expect(events.count == 1)
    }
}
