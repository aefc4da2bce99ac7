import ArgumentParser
import EventSourceTestServer
import Foundation
import PusherClient
import PusherEncryption
import PusherServerAPI
import PusherTestServer
import ServerSentEvents
import SignalRClient
import SignalRTestServer
import TestSupport
import WebSocketClient

/// Each library gets a number for which Foundation's JSON decoder ends the process on Linux, if an integer is expected.
/// The command ends with success if each library reports an error, and then decodes the next value.
struct NumbersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "numbers",
        abstract: "Receives numbers for which Foundation's JSON decoder ends the process, through each library."
    )

    private static let number = "0." + String(repeating: "0", count: 128) + "1e145"
    private static let hostile = #"{"id":\#(number)}"#

    private struct Order: Codable {
        var id: Int
    }

    /// Our own decoder, and one of the app.
    private static var decoders: [JSONDecoder?] { [nil, JSONDecoder()] }

    func run() async throws {
        let hangGuard = HangGuard(patience: .seconds(280), "PusherClient")
        try await client()
        hangGuard.begin("ServerSentEvents")
        try await eventStream()
        hangGuard.begin("SignalRClient")
        try await hub()
        try await hubAnswers()
        hangGuard.begin("PusherServerAPI")
        try await serverAPI()
        hangGuard.begin("the test servers")
        try await testServers()
        print("all survived")
    }

    private func require(_ condition: Bool, _ message: String) throws {
        guard condition else { throw ExitMessage(message) }
    }

    // MARK: Libraries

    /// The backend's data about a user.
    private struct User: Decodable {
        var id: String
        var user_info: Order
    }

    private func client() async throws {
        var serverOptions = PusherTestServer.Options()
        serverOptions.authenticateUser = { _ in .allow(userID: "mallory", userInfo: Self.hostile) }
        try await PusherTestServer.withServer(options: serverOptions) { server in
            let options = PusherClientOptions(testing: server.access)
            options.logLevel = .silent
            options.callbackQueue = .eventLoop
            let pusher = Pusher(key: server.access.key, options: options)
            let channel = pusher.subscribe("presence-orders")
            let undecodable = pusher.errors
            var values: [DecodedValueSequence<Order>.AsyncIterator] = []
            var fromMembers: [DecodedValueSequence<Order>.AsyncIterator] = []
            var events: [DecodedEventSequence<Order>.AsyncIterator] = []
            let (observed, observer) = AsyncStream.makeStream(of: Int.self)
            var observations: [EventObservation] = []
            for decoder in Self.decoders {
                values.append(channel.values(named: "created", as: Order.self, decoder: decoder).makeAsyncIterator())
                fromMembers.append(
                    channel.values(named: "client-created", as: Order.self, decoder: decoder).makeAsyncIterator()
                )
                events.append(channel.events(named: "created", as: Order.self, decoder: decoder).makeAsyncIterator())
                observations.append(
                    channel.observe(named: "created", as: Order.self, decoder: decoder) { observer.yield($0.value.id) }
                )
            }
            var texts = channel.events(named: "created").makeAsyncIterator()
            try await pusher.connected()
            try await channel.subscribed()
            // A server sends the first event, and a member the second one.
            let member = try server.join("mallory", in: "presence-orders", userInfo: Self.hostile)
            try server.publish(event: "created", data: Self.hostile, to: "presence-orders")
            try member.send("client-created", data: Self.hostile)
            try member.send("client-created", data: #"{"id":7}"#)
            try server.publish(event: "created", data: #"{"id":7}"#, to: "presence-orders")
            for index in values.indices {
                try require(await values[index].next()?.id == 7, "values(named:as:) has not skipped the event.")
                try require(await fromMembers[index].next()?.id == 7, "The member's event was not skipped.")
                try require(await events[index].next()?.value.id == 7, "events(named:as:) has not skipped the event.")
            }
            var ids = observed.makeAsyncIterator()
            for _ in Self.decoders {
                try require(await ids.next() == 7, "observe(named:as:) has not skipped the event.")
            }
            let event = await texts.next()
            for decoder in Self.decoders {
                let order: Order? = try? event?.decode(decoder: decoder)
                try require(event?.data == Self.hostile && order == nil, "The event was decoded.")
                let found = (channel as? PusherPresenceChannel)?.findMember(userId: "mallory")
                let information: Order? = try? found?.decodeUserInfo(decoder: decoder)
                try require(found?.userInfo != nil && information == nil, "The member's information was decoded.")
            }
            let codes = await undecodable.prefix(8).map(\.code).reduce(into: []) { $0.append($1) }
            try require(codes.allSatisfy { $0 == .undecodableData }, "The client has reported \(codes).")
            try await pusher.signedIn()
            for decoder in Self.decoders {
                let user: User? = try? pusher.user.decodeUserData(decoder: decoder)
                try require(pusher.user.userId == "mallory" && user == nil, "The user's data were decoded.")
            }
            await pusher.disconnected()
        }
        print("PusherClient survived")
    }

    private func eventStream() async throws {
        try await EventSourceTestServer.withServer { server in
            server.respond { exchange in
                try await exchange.start()
                try await exchange.send("data: \(Self.hostile)\n\ndata: {\"id\":7}\n\n")
                await exchange.disconnected()
            }
            for decoder in Self.decoders {
                var iterator = EventStream(server.url).events(as: Order.self, decoder: decoder).makeAsyncIterator()
                do {
                    _ = try await iterator.next()
                    throw ExitMessage("The event was decoded.")
                } catch let error as EventStreamError where error.code == .decodingFailed {}
                try require(try await iterator.next()?.id == 7, "The next event was not decoded.")
            }
        }
        print("ServerSentEvents survived")
    }

    private func hub() async throws {
        for decoder in Self.decoders {
            let server = try await SignalRTestServer.inMemory()
            var builder = HubConnectionBuilder().withUrl(url: server.url)
            if let decoder { builder = builder.withJSONCoders(encoder: { JSONEncoder() }, decoder: { decoder }) }
            let connection = server.connect(builder).build()
            let (received, receiver) = AsyncStream.makeStream(of: Int.self)
            await connection.on("created") { (order: Order) in receiver.yield(order.id) }
            try await connection.start()
            func frame(_ members: String) -> [UInt8] { Array("{\(members)}\u{1E}".utf8) }
            server.sendBytes(frame(#""type":1,"target":"created","arguments":[\#(Self.hostile)]"#))
            server.sendBytes(frame(#""type":1,"target":"created","arguments":[{"id":7}]"#))
            var ids = received.makeAsyncIterator()
            try require(await ids.next() == 7, "The handler was called with another argument.")
            await connection.stop()
            await server.shutdown()
        }
        print("SignalRClient survived")
    }

    /// The results of calls, and the items of streams.
    private func hubAnswers() async throws {
        for decoder in Self.decoders {
            let server = try await SignalRTestServer.inMemory()
            var builder = HubConnectionBuilder().withUrl(url: server.url)
            if let decoder { builder = builder.withJSONCoders(encoder: { JSONEncoder() }, decoder: { decoder }) }
            let connection = server.connect(builder).build()
            // The client ignores answers to calls that it has not made. The server sends its own answer afterwards.
            @Sendable func answer(_ type: Int, _ name: String) {
                for id in 1...20 {
                    let members = #""type":\#(type),"invocationId":"\#(id)","\#(name)":\#(Self.hostile)"#
                    server.sendBytes(Array("{\(members)}\u{1E}".utf8))
                }
            }
            server.on("get") { (_: TestHubCall) -> Int in
                answer(3, "result")
                return 0
            }
            server.on("list") { (_: TestHubCall) -> AsyncStream<Int> in
                answer(2, "item")
                return AsyncStream { $0.finish() }
            }
            try await connection.start()
            let order = try? await connection.invoke("get", returning: Order.self)
            try require(order == nil, "The result was decoded.")
            do {
                for try await _ in try await connection.stream("list", of: Order.self) {}
                throw ExitMessage("The item was decoded.")
            } catch let error as ExitMessage {
                throw error
            } catch {}
            server.on("get") { (_: TestHubCall) in Order(id: 7) }
            let next = try await connection.invoke("get", returning: Order.self)
            try require(next.id == 7, "The next result was not decoded.")
            await connection.stop()
            await server.shutdown()
        }
        print("results and items of SignalRClient survived")
    }

    /// The servers get the number from a client.
    private func testServers() async throws {
        try await PusherTestServer.withServer { server in
            let url = "ws://127.0.0.1:\(server.port)/app/\(server.access.key)?protocol=7"
            let socket = try await WebSocket.connect(to: url, options: Self.webSocketOptions)
            try await socket.send(#"{"event":"pusher:subscribe","data":{"channel":\#(Self.number)}}"#)
            try await socket.send(#"{"event":"pusher:ping","data":\#(Self.hostile)}"#)
            try require(await Self.receives("pusher:pong", socket), "PusherTestServer gave no answer.")
            try socket.close()
        }
        let hub = try await SignalRTestServer.start()
        hub.on("take") { (_: TestHubCall, order: Order) in order.id }
        let url = hub.url.replacing("http://", with: "ws://")
        let socket = try await WebSocket.connect(to: url, options: Self.webSocketOptions)
        let end = "\u{1E}"
        try await socket.send(#"{"protocol":"json","version":1}"# + end)
        for (id, argument) in ["1": Self.hostile, "2": #"{"id":7}"#].sorted(by: { $0.key < $1.key }) {
            let call = #"{"type":1,"invocationId":"\#(id)","target":"take","arguments":[\#(argument)]}"#
            try await socket.send(call + end)
        }
        try require(await Self.receives(#""result":7"#, socket), "SignalRTestServer gave no answer.")
        try socket.close()
        await hub.shutdown()
        print("the test servers survived")
    }

    private static var webSocketOptions: WebSocketOptions {
        var options = WebSocketOptions()
        options.proxy = .direct
        return options
    }

    private static func receives(_ text: String, _ socket: WebSocket) async -> Bool {
        do {
            for try await message in socket.messages {
                if case .text(let received) = message, received.contains(text) { return true }
            }
        } catch {}
        return false
    }

    private func serverAPI() async throws {
        try await EventSourceTestServer.withServer { server in
            server.respond(at: "/apps/1/channels") { exchange in
                try await exchange.start(headers: ["Content-Type": "application/json"])
                try await exchange.send(#"{"channels":{"orders":{"subscription_count":\#(Self.number)}}}"#)
                try await exchange.end()
            }
            var options = PusherServerAPI.Options()
            options.proxy = .direct
            let api = try PusherServerAPI(
                application: .init(id: "1", key: "key", secret: "secret"),
                endpoint: .init(host: "127.0.0.1", port: server.port, useTLS: false),
                options: options
            )
            let channels = try await api.channels()
            try require(channels["orders"] != nil, "The answer was not read.")
            let time = Int(Date().timeIntervalSince1970 * 1_000)
            let event = #"{"name":"client_event","channel":"c","event":"client-e","data":\#(Self.hostile)}"#
            let body = #"{"time_ms":\#(time),"events":[\#(event)],"x":\#(Self.number)}"#
            let signature = HMACSHA256.hexadecimal(body, secret: "secret")
            let webhook = try api.webhook(body: body.utf8, key: "key", signature: signature)
            try require(webhook.events.map(\.data) == [Self.hostile], "The webhook was not read.")
            api.shutdown()
        }
        print("PusherServerAPI survived")
    }
}
