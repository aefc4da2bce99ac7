import ClientTestSupport
import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Payload transformers", .limited, .overEachTransport)
struct PayloadTransformerTests {
    let world = VirtualWorld()

    /// A transformer that joins parts like `"1/3:abc"`, and splits client events into parts of three characters. The
    /// reader throws for any other string.
    private struct Parts: PayloadTransformer {
        var outgoing: (@Sendable (EventPayload) throws -> [EventPayload])?

        func makeReader(channelName: String) -> any PayloadReader { Reader() }

        func outgoing(_ payload: EventPayload) throws -> [EventPayload] {
            if let outgoing { return try outgoing(payload) }
            let text = Array(payload.data ?? "")
            let starts = Array(stride(from: 0, to: max(text.count, 1), by: 3))
            return starts.enumerated().map { index, start in
                var part = payload
                part.data = "\(index + 1)/\(starts.count):" + String(text[start..<min(start + 3, text.count)])
                return part
            }
        }

        struct Reader: PayloadReader {
            private var text = ""

            mutating func incoming(_ payload: EventPayload) throws -> [EventPayload] {
                let pieces = (payload.data ?? "").split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                let numbers = pieces[0].split(separator: "/").compactMap { Int($0) }
                guard pieces.count == 2, numbers.count == 2 else { throw NoPart() }
                text += pieces[1]
                guard numbers[0] == numbers[1] else { return [] }
                var whole = payload
                whole.data = text
                text = ""
                return [whole]
            }
        }

        struct NoPart: Error {}
    }

    private func options(_ transformer: Parts = Parts(), user: String? = nil) -> PusherClientOptions {
        let parameters = user.map { ["user_id": $0] } ?? [:]
        return PusherClientOptions(
            authMethod: .endpoint(AuthEndpoint(VirtualWorld.authEndpoint, parameters: .init(parameters))),
            host: .host("server.test"),
            useTLS: false,
            userAuthMethod: .endpoint(AuthEndpoint(VirtualWorld.userEndpoint, parameters: .init(parameters))),
            retryPolicy: .delays([.seconds(1)]),
            clientEventEncoding: .string,
            payloadTransformer: transformer,
            callbackQueue: .eventLoop,
            logger: .quiet
        )
    }

    private func join(
        _ name: String,
        _ transformer: Parts = Parts(),
        user: String? = nil
    ) async throws -> (pusher: Pusher, channel: PusherChannel, events: Log<String>) {
        let pusher = try await world.makeConnectedClient(options(transformer, user: user))
        let channel = pusher.subscribe(name)
        await world.runUntil { channel.subscribed }
        let events = Log<String>()
        channel.bind { events.append("\($0.eventName) \($0.data ?? "-") \($0.userId ?? "-")") }
        return (pusher, channel, events)
    }

    private func publish(_ data: String, to channel: String = "news", event: String = "flash") throws {
        try world.server.publish(event: event, data: data, to: channel)
    }

    @Test("a reader may use the client while the client releases the reader")
    func releasedReader() async throws {
        let client = NIOLockedValueBox<Pusher?>(nil)
        let released = Log<Bool>()
        let transformer = Unchanged { [client] in
            released.append(client.withLockedValue { $0 }?.statistics != nil)
        }
        let options = options()
        options.payloadTransformer = transformer
        let pusher = try await world.makeConnectedClient(options)
        client.withLockedValue { $0 = pusher }
        for name in ["news", "orders"] {
            let channel = pusher.subscribe(name)
            let events = Log<String>()
            channel.bind { events.append($0.eventName) }
            await world.runUntil { channel.subscribed }
            try publish("x", to: name)
            await world.runUntil { events.elements.contains("flash") }
        }
        pusher.unsubscribe("news")
        await world.runUntil { released.elements == [true] }
        pusher.disconnect()
        await world.runUntil { released.elements == [true, true] }
        client.withLockedValue { $0 = nil }
    }

    /// A transformer whose readers change nothing, and call a function when they are released.
    private struct Unchanged: PayloadTransformer {
        let released: @Sendable () -> Void

        func makeReader(channelName: String) -> any PayloadReader { Reader(released) }

        final class Reader: PayloadReader {
            private let released: @Sendable () -> Void

            init(_ released: @escaping @Sendable () -> Void) { self.released = released }

            deinit { released() }

            func incoming(_ payload: EventPayload) -> [EventPayload] { [payload] }
        }
    }

    @Test("the client sends the exact bytes of a transformer, even if the old and the new data are canonically equal")
    func normalized() async throws {
        let transformer = Parts { payload in
            var composed = payload
            composed.data = payload.data?.precomposedStringWithCanonicalMapping
            return [composed]
        }
        let (_, channel, _) = try await join("private-chat", transformer)
        channel.trigger(eventName: "client-a", data: "e\u{301}")
        await world.runUntil { world.server.receivedMessages().contains { $0.contains("client-a") } }
        let sent = world.server.receivedMessages().last { $0.contains("client-a") }
        #expect(sent?.utf8.elementsEqual(#"{"event":"client-a","data":"é","channel":"private-chat"}"#.utf8) == true)
        let received = EventPayload(eventName: "e", data: "é", channelName: "a")
        #expect(!received.hasBytes(of: EventPayload(eventName: "e", data: "e\u{301}", channelName: "a")))
    }

    @Test("callbacks, sequences and listeners of all events get joined parts as one event")
    func incoming() async throws {
        let (pusher, channel, events) = try await join("news")
        let everything = Log<String>()
        pusher.bind { everything.append($0.data ?? "-") }
        var sequence = channel.events(named: "flash").makeAsyncIterator()
        for part in ["1/3:Hel", "2/3:lo ", "3/3:Ada"] { try publish(part) }
        await world.run()
        #expect(events.elements == ["flash Hello Ada -"])
        #expect(everything.elements == ["Hello Ada"])
        #expect(await sequence.next()?.data == "Hello Ada")
    }

    @Test(
        "the client keeps the parts of different channels apart, and decrypts parts before reading them",
        .needsSodium
    )
    func channels() async throws {
        let (pusher, _, news) = try await join("news")
        let other = pusher.subscribe("private-encrypted-news")
        await world.runUntil { other.subscribed }
        let secrets = Log<String>()
        other.bind(eventName: "flash") { secrets.append($0.data ?? "-") }
        try publish("1/2:a")
        try publish("1/2:x", to: "private-encrypted-news")
        try publish("2/2:b")
        try publish("2/2:y", to: "private-encrypted-news")
        await world.run()
        #expect(news.elements == ["flash ab -"])
        #expect(secrets.elements == ["xy"])
    }

    @Test(
        "after a loss or a new subscription, the client never joins earlier parts with later parts",
        arguments: [true, false]
    )
    func freshReader(isLoss: Bool) async throws {
        let (_, channel, events) = try await join("news")
        try publish("1/2:old")
        await world.run()
        if isLoss { world.server.dropConnections() } else { channel.resubscribe() }
        await world.advance(by: .seconds(1))
        await world.runUntil { channel.subscribed }
        try publish("1/1:new")
        await world.run()
        #expect(events.elements.filter { $0.hasPrefix("flash") } == ["flash new -"])
    }

    @Test("if a payload reader throws, the client reports the error, and the reader gets the next event")
    func readerThrows() async throws {
        let (pusher, _, events) = try await join("news")
        var errors = pusher.errors.makeAsyncIterator()
        try publish("nonsense")
        try publish("1/1:sense")
        await world.run()
        #expect(events.elements == ["flash sense -"])
        let error = await errors.next()
        #expect(error?.code == .payloadTransformerFailed)
        #expect(error?.channelName == "news" && error?.cause is Parts.NoPart)
    }

    @Test("protocol events do not pass through transformers")
    func protocolEvents() async throws {
        let (pusher, channel, _) = try await join("presence-room", user: "ada")
        var errors = pusher.errors.makeAsyncIterator()
        let names = Log<String>()
        channel.bind { names.append($0.eventName) }
        let (_, _, _) = try await join("presence-room", user: "bob")
        await world.run()
        #expect(names.elements == ["pusher:member_added"])
        try publish("nonsense", to: "presence-room")
        await world.run()
        #expect(await errors.next()?.channelName == "presence-room")
    }

    @Test("client events that are sent in parts arrive as one event, with their sender")
    func outgoing() async throws {
        let (_, ada, _) = try await join("presence-room", user: "ada")
        let (_, _, events) = try await join("presence-room", user: "bob")
        ada.trigger(eventName: "client-say", data: "Good day")
        await world.run()
        let sent = world.server.receivedMessages().filter { $0.contains("client-say") }
        #expect(sent.count == 3)
        #expect(sent.first?.contains(#""data":"1/3:Goo""#) == true)
        #expect(events.elements == ["client-say Good day ada"])
        try await world.complete { try await ada.send("client-say", data: "Bye") }
        await world.run()
        #expect(events.elements.last == "client-say Bye ada")
    }

    @Test("events of the user pass through the transformer")
    func userEvents() async throws {
        let pusher = try await world.makeConnectedClient(options(user: "ada"))
        let events = Log<String>()
        pusher.user.bind(eventName: "note") { events.append($0.data ?? "-") }
        pusher.signIn()
        await world.runUntil { pusher.user.userId == "ada" }
        await world.run()
        try publish("1/2:a", to: "#server-to-user-ada", event: "note")
        try publish("2/2:b", to: "#server-to-user-ada", event: "note")
        await world.run()
        #expect(events.elements == ["ab"])
    }

    enum Fault: CaseIterable { case error, name, size }

    @Test(
        "the client event fails, and is not sent, if its transformer throws or returns invalid output",
        arguments: Fault.allCases
    )
    func outgoingFails(fault: Fault) async throws {
        let transformer = Parts { payload in
            var bad = payload
            switch fault {
            case .error: throw Parts.NoPart()
            case .name: bad.eventName = "say"
            case .size: bad.data = String(repeating: "a", count: 10_241)
            }
            return [payload, bad]
        }
        let pusher = try await world.makeConnectedClient(options(transformer))
        let channel = pusher.subscribe("private-chat")
        await world.runUntil { channel.subscribed }
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await channel.send("client-say", data: "hello") }
        }
        let code: PusherClientError.Code =
            switch fault {
            case .error: .payloadTransformerFailed
            case .name: .invalidEventName
            case .size: .clientEventTooBig
            }
        #expect(error?.code == code)
        var errors = pusher.errors.makeAsyncIterator()
        channel.trigger(eventName: "client-say", data: "hello")
        await world.run()
        #expect(await errors.next()?.code == code)
        #expect(!world.server.receivedMessages().contains { $0.contains("client-say") })
    }

    @Test("no error and no log contains the description of a transformer's error")
    func thrownText() async throws {
        struct Telling: Error, CustomStringConvertible { let description = "the-users-secret" }
        let lines = LogLines()
        let options = PusherClientOptions(
            authMethod: .endpoint(authEndpoint: VirtualWorld.authEndpoint),
            host: .host("server.test"),
            useTLS: false,
            payloadTransformer: Parts { _ in throw Telling() },
            callbackQueue: .eventLoop,
            logger: lines.logger(.trace)
        )
        let pusher = try await world.makeConnectedClient(options)
        let channel = pusher.subscribe("private-chat")
        await world.runUntil { channel.subscribed }
        var errors = pusher.errors.makeAsyncIterator()
        channel.trigger(eventName: "client-say", data: "hello")
        await world.run()
        let error = try #require(await errors.next())
        #expect(error.cause is Telling)
        #expect(error.message.contains("Telling"))
        #expect(!error.description.contains("the-users-secret"))
        #expect(!lines.messages.contains { $0.contains("the-users-secret") })
    }

    /// A transformer that reverses the data of client events. Reversed data is seldom JSON.
    private struct Reversal: PayloadTransformer {
        struct Reader: PayloadReader {
            mutating func incoming(_ payload: EventPayload) throws -> [EventPayload] { [payload.reversed] }
        }

        func makeReader(channelName: String) -> any PayloadReader { Reader() }
        func outgoing(_ payload: EventPayload) throws -> [EventPayload] { [payload.reversed] }
    }

    @Test(
        "a transformer and its reader restore the original data",
        arguments: [PusherClientOptions.ClientEventEncoding.json, .string]
    )
    func symmetric(encoding: PusherClientOptions.ClientEventEncoding) async throws {
        func join(_ transformer: (any PayloadTransformer)?) async throws -> (PusherChannel, Log<String>) {
            let options = PusherClientOptions(
                authMethod: .endpoint(authEndpoint: VirtualWorld.authEndpoint),
                host: .host("server.test"),
                useTLS: false,
                clientEventEncoding: encoding,
                payloadTransformer: transformer,
                limits: .init(clientEventsPerSecond: nil),
                callbackQueue: .eventLoop,
                logger: .quiet
            )
            let pusher = try await world.makeConnectedClient(options)
            let channel = pusher.subscribe(transformer == nil ? "private-plain" : "private-reversed")
            await world.runUntil { channel.subscribed }
            let events = Log<String>()
            channel.bind(eventName: "client-e") { events.append($0.data ?? "-") }
            return (channel, events)
        }
        let (plain, _) = try await join(nil)
        let (_, withoutIt) = try await join(nil)
        let (reversed, _) = try await join(Reversal())
        let (_, withIt) = try await join(Reversal())
        let data: [any Sendable] = [
            "text", "a \"b\"", "[1", 100, 0.001, true, ["k": "v"], [1, 2], [[]] as [[Int]], "",
        ]
        for value in data {
            plain.trigger(eventName: "client-e", data: value)
            reversed.trigger(eventName: "client-e", data: value)
        }
        await world.runUntil { withIt.count == data.count && withoutIt.count == data.count }
        #expect(withIt.elements == withoutIt.elements)
    }

    @Test("a transformer may drop a client event")
    func swallowed() async throws {
        let (_, channel, _) = try await join("private-chat", Parts { _ in [] })
        try await world.complete { try await channel.send("client-say", data: "hello") }
        #expect(!world.server.receivedMessages().contains { $0.contains("client-say") })
    }

    @Test("the client releases readers with their channel and with the connection", arguments: [0, 1, 2])
    func leftovers(how: Int) async throws {
        let (pusher, _, _) = try await join("news")
        try publish("1/2:a")
        await world.run()
        let engine = pusher.engine
        #expect(try await world.atOnce { engine.loopState.value.payloadReaders.count } == 1)
        switch how {
        case 0: pusher.unsubscribe("news")
        case 1: pusher.disconnect()
        default: world.server.dropConnections()
        }
        await world.run()
        #expect(try await world.atOnce { engine.loopState.value.payloadReaders.count } == 0)
    }

    @Test("an app can test a transformer without a client")
    func byItself() throws {
        var reader = Parts().makeReader(channelName: "news")
        let parts = ["1/2:a", "2/2:b"].map { EventPayload(eventName: "flash", data: $0, channelName: "news") }
        #expect(try reader.incoming(parts[0]) == [])
        #expect(try reader.incoming(parts[1]).map(\.data) == ["ab"])
    }
}

extension EventPayload {
    fileprivate var reversed: EventPayload {
        var payload = self
        payload.data = data.map { String($0.reversed()) }
        return payload
    }
}
