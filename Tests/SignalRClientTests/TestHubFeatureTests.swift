import Foundation
import NIOConcurrencyHelpers
import SignalRClient
import SignalRTestServer
import TestHub
import TestTLS
import TestTraits
import Testing

/// Tests of what a hub of one's own needs, with this package's client.
@Suite("A hub with its own methods", .limited) struct TestHubFeatureTests {
    // MARK: Streams

    @Test("a method can answer with a sequence", arguments: Route.all)
    func streams(_ route: Route) async throws {
        try await withConnection(route) { connection, server in
            server.on("Count") { (_, count: Int) in
                AsyncStream { continuation in
                    for number in 0..<count { continuation.yield(number) }
                    continuation.finish()
                }
            }
            server.on("Fail") { _ in
                AsyncThrowingStream<String, any Error> { continuation in
                    continuation.yield("first")
                    continuation.finish(throwing: HubError("no second"))
                }
            }
            var items: [Int] = []
            for try await item in try await connection.stream("Count", 5, of: Int.self) { items.append(item) }
            #expect(items == [0, 1, 2, 3, 4])
            var texts: [String] = []
            let text = "An error occurred on the server while streaming results. HubException: no second"
            await #expect(throws: SignalRError.invocationError(text)) {
                for try await item in try await connection.stream("Fail", of: String.self) { texts.append(item) }
            }
            #expect(texts == ["first"])
        }
    }

    @Test("a stream ends if the client cancels it, and if the connection ends", arguments: [true, false])
    func endOfStreams(cancels: Bool) async throws {
        try await withConnection(mayEnd: true) { connection, server in
            let ends = Inbox<Bool>()
            server.on("Wait") { _ in
                AsyncStream<Int> { continuation in
                    continuation.yield(1)
                    continuation.onTermination = { if case .cancelled = $0 { ends.add(true) } else { ends.add(false) } }
                }
            }
            let task = Task {
                for try await _ in try await connection.stream("Wait", of: Int.self) {
                    if cancels { break }
                    server.dropConnections()
                }
            }
            let isCancelled = try await ends.next()
            #expect(isCancelled)
            _ = await task.result
        }
    }

    @Test("a method can read several uploads", arguments: Route.all)
    func uploads(_ route: Route) async throws {
        try await withConnection(route) { connection, server in
            server.on("Zip", uploads: 2) { (call: TestHubCall, separator: String) in
                var texts = ""
                for try await text in call.upload(0, of: String.self) { texts += text + separator }
                for try await number in call.upload(1, of: Int.self) { texts += "\(number)" + separator }
                return texts
            }
            func items<T: Sendable>(_ items: [T]) -> AsyncStream<T> {
                AsyncStream { continuation in
                    for item in items { continuation.yield(item) }
                    continuation.finish()
                }
            }
            let text: String = try await connection.invoke(
                method: "Zip",
                arguments: items(["a", "b"]),
                items([1, 2]),
                "-"
            )
            #expect(text == "a-b-1-2-")
        }
    }

    // MARK: One connection

    @Test("a method can close the caller's connection or drop it", arguments: Route.all.filter { !$0.isInMemory })
    func ends(_ route: Route) async throws {
        for (method, reconnects) in [("close", false), ("reconnect", true), ("drop", true)] {
            try await withServer { server in
                server.on("close") { call in call.close(error: "enough") }
                server.on("reconnect") { call in call.close(allowReconnect: true) }
                server.on("drop") { call in call.drop() }
                let connection = route.builder(server).withAutomaticReconnect([0, 0.1, 0.5]).build()
                let events = Inbox<String>()
                connection.onClosed { events.add("\($0.map { "\($0)" } ?? "closed")") }
                connection.onReconnected { events.add("reconnected") }
                try await connection.start()
                try? await connection.send(method: method)
                let event = try await events.next()
                #expect(reconnects ? event == "reconnected" : event.contains("enough"), "\(method)")
                await connection.stop()
            }
        }
    }

    @Test("the server knows its connections, and can send to one, to others, to a group and to a user")
    func clients() async throws {
        var options = TestHubOptions()
        options.authorize = { request in .allow(userID: request.query["user"]) }
        try await withServer(options) { server in
            server.on("join") { (call, group: String) in call.connection.join(group) }
            server.on("leave") { (call, group: String) in call.connection.leave(group) }
            let inboxes = (0..<3).map { _ in Inbox<String>() }
            var connections: [HubConnection] = []
            for (index, user) in ["ann", "bob", "bob"].enumerated() {
                let url = server.url + "?user=\(user)"
                let connection = HubConnectionBuilder.patient.withUrl(url: url, transport: .webSockets).build()
                await connection.on("news") { (text: String) in inboxes[index].add(text) }
                try await connection.start()
                connections.append(connection)
            }
            let known = server.connections
            #expect(known.map(\.id) == connections.map { $0.connectionId ?? "" })
            #expect(known.map(\.userID) == ["ann", "bob", "bob"])
            #expect(known.allSatisfy { $0.transport == .webSockets && $0.hubProtocol == .json })
            #expect(known[0].query["user"] == "ann" && known[0].headers["host"] != nil)
            try await connections[0].invoke(method: "join", arguments: "g")
            try await connections[1].invoke(method: "join", arguments: "g")
            try await connections[1].invoke(method: "join", arguments: "h")
            try await connections[1].invoke(method: "leave", arguments: "h")
            server.send(to: .connection(known[0].id), "news", "one")
            server.send(to: .all(except: [known[0].id]), "news", "others")
            server.send(to: .group("g"), "news", "group")
            server.send(to: .group("g", except: [known[0].id]), "news", "rest")
            server.send(to: .group("h"), "news", "nobody")
            server.send(to: .user("bob"), "news", "bob")
            try known[2].send("news", "direct")
            server.sendAll("news", "all")
            #expect(await inboxes[0].next(3) == ["one", "group", "all"])
            #expect(await inboxes[1].next(5) == ["others", "group", "rest", "bob", "all"])
            #expect(await inboxes[2].next(4) == ["others", "bob", "direct", "all"])
            for connection in connections { await connection.stop() }
            await server.waitForDisconnections(count: 3)
            #expect(server.connections.isEmpty)
        }
    }

    @Test("calls wait for onConnected, and onDisconnected gets the client's error")
    func lifetimes() async throws {
        try await withServer { server in
            let events = Inbox<String>()
            server.onConnected { connection in
                await Task.yield()
                events.add("connected \(connection.id)")
            }
            server.onDisconnected { connection, error in events.add("disconnected \(connection.id) \(error ?? "-")") }
            server.on("note") { (_: TestHubCall) in events.add("called") }
            try await withWire(server) { wire in
                try await wire.connect()
                try await wire.call(#"{"type":1,"target":"note","arguments":[]}"#)
                #expect(await events.next(2) == ["connected id-1", "called"])
                try await wire.call(#"{"type":7,"error":"bye"}"#)
                #expect(await wire.frame() == .text("{\"type\":7}\u{1E}"))
                #expect(await wire.frame() == .close(1000))
                try await wire.send(0x88, [0x03, 0xE8])
                #expect(await wire.frame() == nil)
                #expect(try await events.next() == "disconnected id-1 bye")
            }
        }
    }

    @Test("the faults of one connection spare the others")
    func faultsOfOne() async throws {
        try await withServer { server in
            try await withWire(server) { first in
                try await first.connect()
                try await withWire(server) { second in
                    try await second.connect()
                    let connection = try #require(server.connections.first)
                    connection.setSilent(true)
                    server.sendAll("a")
                    connection.setSilent(false)
                    connection.sendBytes(Array("raw".utf8))
                    #expect(await first.frame() == .text("raw"))
                    #expect(await second.frame()?.text.contains(#""target":"a""#) == true)
                    connection.drop()
                    #expect(await first.frame() == nil)
                    server.sendAll("b")
                    #expect(await second.frame()?.text.contains(#""target":"b""#) == true)
                }
            }
        }
    }

    // MARK: Calls

    @Test("a call of the client ends after its timeout, and with its task", arguments: Route.all)
    func clientCalls(_ route: Route) async throws {
        try await withConnection(route) { connection, server in
            let asked = Inbox<Void>()
            await connection.on("never") { () -> Int in
                asked.add(())
                for await _ in AsyncStream<Void>.makeStream().stream {}
                return 0
            }
            server.on("ask") { call in
                try await call.invoke("never", returning: Int.self, timeout: .milliseconds(50))
            }
            server.on("cancel") { call in
                let task = Task { try await call.invoke("never", returning: Int.self) }
                task.cancel()
                return try await task.value
            }
            for method in ["ask", "cancel"] {
                let text = "An unexpected error occurred invoking '\(method)' on the server. "
                await #expect(
                    throws: SignalRError.invocationError(
                        text + "HubException: Invocation canceled by the server."
                    )
                ) {
                    try await connection.invoke(method: method)
                }
            }
            // The methods of the connection go on.
            let sum: Int = try await connection.invoke(method: "add", arguments: 40, 2)
            #expect(sum == 42)
        }
    }

    @Test("a method's task is cancelled if its connection ends, and if the client cancels the call")
    func cancelledMethods() async throws {
        try await withServer { server in
            let (started, ended) = (Inbox<Void>(), Inbox<Bool>())
            server.on("wait") { (_: TestHubCall) in
                started.add(())
                try? await Task.sleep(for: .seconds(3_600))
                ended.add(Task.isCancelled)
            }
            try await withWire(server) { wire in
                try await wire.connect()
                try await wire.call(#"{"type":1,"invocationId":"1","target":"wait","arguments":[]}"#)
                try await started.next()
                try await wire.call(#"{"type":5,"invocationId":"1"}"#)
                #expect(try await ended.next())
                #expect(await wire.frame()?.text.contains(#""invocationId":"1","result":null"#) == true)
                try await wire.call(#"{"type":1,"invocationId":"2","target":"wait","arguments":[]}"#)
                try await started.next()
                try await wire.close()
                #expect(try await ended.next())
            }
        }
    }

    @Test("an option lets methods of one connection run at the same time", arguments: [1, 2])
    func parallelCalls(count: Int) async throws {
        var options = TestHubOptions()
        options.maximumParallelCalls = count
        try await withServer(options) { server in
            let started = Inbox<Int>()
            let (gate, open) = AsyncStream<Void>.makeStream()
            server.on("wait") { (_, number: Int) in
                started.add(number)
                if number == 1 { for await _ in gate { break } }
            }
            try await withWire(server) { wire in
                try await wire.connect()
                for number in 1...2 {
                    try await wire.call(
                        #"{"type":1,"invocationId":"\#(number)","target":"wait","arguments":[\#(number)]}"#
                    )
                }
                let first = try await started.next()
                if count == 1 { open.yield() }
                let second = try await started.next()
                // Methods that run at the same time start in any order.
                #expect(count == 1 ? [first, second] == [1, 2] : Set([first, second]) == [1, 2])
                #expect(await wire.frame()?.text.contains(#""invocationId":"\#(count)""#) == true)
                if count == 2 { open.yield() }
                #expect(await wire.frame()?.text.contains(#""invocationId":"\#(3 - count)""#) == true)
            }
        }
    }

    // MARK: Options

    @Test("one server has several hubs and endpoints, and other paths get 404")
    func severalHubs() async throws {
        try await withServer { server in
            var limited = TestHubOptions()
            limited.transports = [.longPolling]
            let other = try await server.addHub(at: "/other", options: limited)
            server.on("name") { _ in "first" }
            other.on("name") { _ in "second" }
            server.respond(at: "/health") { request in
                TestHubResponse(status: 201, text: "\(request.method) \(String(decoding: request.body, as: UTF8.self))")
            }
            for (hub, name) in [(server, "first"), (other, "second")] {
                let connection = HubConnectionBuilder.patient.withUrl(url: hub.url).build()
                try await connection.start()
                let answer: String = try await connection.invoke(method: "name")
                #expect(answer == name)
                await connection.stop()
            }
            #expect(other.requests.allSatisfy { $0.path.hasPrefix("/other") })
            try await withWire(server) { wire in
                let answer = try await wire.request("POST", "/health", body: "x")
                #expect(answer.status == 201 && answer.body == "POST x")
                #expect(try await wire.request("GET", "/nowhere").status == 404)
                await other.shutdown()
                #expect(try await wire.request("POST", "/other/negotiate").status == 404)
            }
        }
    }

    @Test("the hub's coders follow the options")
    func coders() async throws {
        struct Pair: Codable, Equatable { var firstName: String }
        var options = TestHubOptions()
        options.path = "/chat"
        options.messagePackKeys = .pascalCase
        options.jsonEncoder = {
            let encoder = JSONEncoder()
            encoder.keyEncodingStrategy = .convertToSnakeCase
            return encoder
        }
        options.jsonDecoder = {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return decoder
        }
        try await withServer(options) { server in
            server.on("same") { (_, pair: Pair) in pair }
            let builder = HubConnectionBuilder.patient.withUrl(url: server.url, transport: .webSockets)
                .withHubProtocol(hubProtocol: .messagePack).withMessagePackKeys(.pascalCase)
            let connection = builder.build()
            try await connection.start()
            let pair: Pair = try await connection.invoke(method: "same", arguments: Pair(firstName: "Ann"))
            #expect(pair == Pair(firstName: "Ann"))
            await connection.stop()
            try await withWire(server) { wire in
                try await wire.connect("/chat")
                try await wire.call(
                    #"{"type":1,"invocationId":"1","target":"same","arguments":[{"first_name":"Ann"}]}"#
                )
                #expect(await wire.frame()?.text.contains(#""result":{"first_name":"Ann"}"#) == true)
            }
        }
    }

    @Test("dates have as many digits as they need, or those of the option")
    func dates() async throws {
        let date = Date(timeIntervalSince1970: 1_577_836_800)
        let cases: [(Int?, Double, String)] = [
            (nil, 0, "00Z"), (nil, 0.5, "00.5Z"), (nil, 0.125, "00.125Z"), (3, 0, "00.000Z"),
            (7, 0.5, "00.5000000Z"), (0, 0.25, "00Z"), (3, 0.9999, "01.000Z"),
        ]
        for (digits, fraction, end) in cases {
            var options = TestHubOptions()
            options.dateDigits = digits
            try await withServer(options) { server in
                server.on("now") { _ in date + fraction }
                try await withWire(server) { wire in
                    try await wire.connect()
                    try await wire.call(#"{"type":1,"invocationId":"1","target":"now","arguments":[]}"#)
                    #expect(await wire.frame()?.text.contains(#""2020-01-01T00:00:\#(end)""#) == true, "\(end)")
                }
            }
        }
    }

    @Test("the hub decides about tokens: several, 401, 403, and users that a refresh cannot change")
    func tokens() async throws {
        var options = TestHubOptions()
        options.authorize = { request in
            switch request.token {
            case "ann": .allow(userID: "ann", lifetime: .seconds(3_600))
            case "bob": .allow(userID: "bob", lifetime: .seconds(3_600))
            case "eve": .refuse(status: 403)
            default: .refuse(status: 401)
            }
        }
        try await withServer(options) { server in
            try await withWire(server) { wire in
                for (field, status) in [
                    ("Authorization: Bearer ann\n", 200), ("authorization: bearer bob\n", 200),
                    ("Authorization: Bearer eve\n", 403), ("", 401),
                ] {
                    let target = "/hub/negotiate?negotiateVersion=1"
                    let answer = try await wire.request("POST", target, fields: field)
                    #expect(answer.status == status)
                    #expect(answer.body.contains(#""tokenLifetimeSeconds":3600"#) == (status == 200))
                }
                #expect(try await wire.request("POST", "/hub/negotiate?access_token=ann").status == 200)
                for (token, status) in [("ann", 200), ("bob", 403)] {
                    let fields = "Authorization: Bearer \(token)\nX-SignalR-Connection-Token: token/1+\n"
                    let answer = try await wire.request("POST", "/hub/refresh", fields: fields)
                    #expect(answer.status == status)
                    if status == 403 { #expect(answer.body == #"{"error":"user_changed"}"#) }
                }
            }
        }
    }

    @Test("only a redirect gives out its token")
    func tokenOfARedirect() async throws {
        try await withServer { server in
            await server.redirect(times: 1, token: "theirs")
            try await withWire(server) { wire in
                let answer = try await wire.request("POST", "/hub/negotiate")
                #expect(answer.status == 200 && answer.body.contains(#""accessToken":"theirs""#))
                #expect(try await wire.request("POST", "/hub/negotiate?redirect=1").status == 401)
                let fields = "Authorization: Bearer theirs\n"
                #expect(try await wire.request("POST", "/hub/negotiate?redirect=1", fields: fields).status == 200)
            }
        }
    }

    @Test("callers get the details of errors only with an option", arguments: [false, true])
    func detailedErrors(isDetailed: Bool) async throws {
        struct Unlucky: Error, CustomStringConvertible { var description: String { "no luck" } }
        var options = TestHubOptions()
        options.sendsDetailedErrors = isDetailed
        try await withServer(options) { server in
            server.on("Break") { (_: TestHubCall) throws -> Int in throw Unlucky() }
            server.on("Take") { (_, number: Int, _: Int) in number }
            try await withWire(server) { wire in
                let calls = [
                    (
                        "break", "[]", "An unexpected error occurred invoking 'Break' on the server.",
                        " Unlucky: no luck"
                    ),
                    (
                        "take", "[1]", "Failed to invoke 'Take' due to an error on the server.",
                        " InvalidDataException: Invocation provides 1 argument(s) but target expects 2."
                    ),
                ]
                try await wire.connect()
                for (method, arguments, text, detail) in calls {
                    try await wire.call(
                        #"{"type":1,"invocationId":"1","target":"\#(method)","arguments":\#(arguments)}"#
                    )
                    let error = text + (isDetailed ? detail : "")
                    #expect(
                        await wire.frame() == .text(#"{"type":3,"invocationId":"1","error":"\#(error)"}"# + "\u{1E}")
                    )
                }
                try await wire.call("garbage")
                let answer = await wire.frame()?.text ?? ""
                #expect(answer.hasPrefix(#"{"type":7,"error":"Connection closed with an error."#))
                #expect(answer.contains("InvalidDataException") == isDetailed)
                #expect(answer.hasSuffix(#""allowReconnect":true}"# + "\u{1E}"))
            }
        }
    }

    @Test("the hub serves TLS with a certificate", arguments: Route.all.filter { !$0.isInMemory })
    func tls(_ route: Route) async throws {
        var options = TestHubOptions()
        let certificates = TestCertificates()
        options.certificate = TestHubCertificate(
            certificateChain: certificates.serverPEM,
            privateKey: certificates.serverKeyPEM
        )
        try await withServer(options) { server in
            #expect(server.url.hasPrefix("https://localhost:"))
            var client = HttpConnectionOptions()
            client.transport = route.transport
            client.tls = TLSOptions(trustRoots: .only(pem: certificates.rootPEM))
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, options: client)
                .withHubProtocol(hubProtocol: route.hubProtocol).build()
            try await connection.start()
            let sum: Int = try await connection.invoke(method: "add", arguments: 40, 2)
            #expect(sum == 42)
            await connection.stop()
        }
        options.certificate = TestHubCertificate(certificateChain: "no certificate", privateKey: "no key")
        let error = await #expect(throws: SignalRClientError.self) {
            try await SignalRTestServer.start(options: options)
        }
        #expect(error?.code == .tlsFailed)
    }

    @Test("a page of another origin, or with a foreign host, gets 403")
    func origins() async throws {
        var options = TestHubOptions()
        options.allowedOrigins = ["https://app.example.test"]
        options.allowedHosts = ["docker.test"]
        try await withServer(options) { server in
            try await withWire(server) { wire in
                let fields = "Origin: https://app.example.test\n"
                let answer = try await wire.request("POST", "/hub/negotiate", fields: fields)
                #expect(answer.status == 200)
            }
            try await withWire(server) { wire in
                let fields = "Origin: https://evil.example.test\n"
                let answer = try await wire.request("POST", "/hub/negotiate", fields: fields)
                #expect(answer.status == 403)
            }
            try await withWire(server) { wire in
                let answer = try await wire.exchange("GET / HTTP/1.1\nHost: evil.test\n\n", upTo: "\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 403 "))
            }
        }
    }

    // MARK: The example

    @Test("the example has ASP.NET Core's methods", arguments: Route.all.filter { !$0.isInMemory })
    func example(_ route: Route) async throws {
        let hub = try await TestHub.start()
        let connection = HubConnectionBuilder.patient.withUrl(url: hub.server.url, transport: route.transport)
            .withHubProtocol(hubProtocol: route.hubProtocol).withMessagePackKeys(.pascalCase).build()
        await connection.on("Name") { (name: String) in "I am \(name)" }
        try await connection.start()
        let sum: Int = try await connection.invoke(method: "Add", arguments: 2, 3)
        #expect(sum == 5)
        let bytes: Data = try await connection.invoke(method: "Bytes", arguments: Data([1, 2, 3]))
        #expect(bytes == Data([3, 2, 1]))
        let name: String = try await connection.invoke(method: "AskClient", arguments: "Name", "Ada")
        #expect(name == "I am Ada")
        var items: [Int] = []
        for try await item in try await connection.stream("Counter", 3, 1, of: Int.self) { items.append(item) }
        #expect(items == [0, 1, 2])
        let inbox = Inbox<String>()
        await connection.on("Group") { (group: String, text: String) in inbox.add(group + text) }
        try await connection.invoke(method: "Join", arguments: "g")
        try await connection.invoke(method: "ToGroup", arguments: "g", "!")
        #expect(try await inbox.next() == "g!")
        let redirected = HubConnectionBuilder.patient.withUrl(url: "http://127.0.0.1:\(hub.server.port)/redirect")
            .build()
        try await redirected.start()
        await redirected.stop()
        await connection.stop()
        await hub.server.shutdown()
    }
}
