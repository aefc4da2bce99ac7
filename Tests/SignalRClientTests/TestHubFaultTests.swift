import Foundation
import SignalRClient
import SignalRTestServer
import TestSupport
import TestTLS
import TestTraits
import Testing

/// Tests of the bytes that the faults make, and of hubs that come, go and change.
@Suite("Faults and lives of the test hub", .limited) struct TestHubFaultTests {
    private static let handshake = #"{"protocol":"json","version":1}"# + "\u{1E}"

    // MARK: Silence

    @Test("a silent server sends no byte, not even a close frame, and closes at the end", arguments: [true, false])
    func silence(ofAll: Bool) async throws {
        for dropsIt in [true, false] {
            try await withServer { server in
                try await withWire(server) { wire in
                    try await wire.connect()
                    let connection = try #require(server.connections.first)
                    if ofAll { await server.setSilent(true) } else { connection.setSilent(true) }
                    server.expireTokens()
                    server.closeConnections(error: "late")
                    connection.close(error: "later")
                    if dropsIt {
                        server.dropConnections()
                        return #expect(await wire.endsSilently())
                    }
                    server.sendAll("lost")
                    if ofAll { await server.setSilent(false) } else { connection.setSilent(false) }
                    // The last close counts.
                    #expect(await wire.frame() == .text(#"{"type":7,"error":"later"}"# + "\u{1E}"))
                    #expect(await wire.frame() == .close(1000))
                }
            }
        }
    }

    @Test("a server that is silent for one connection answers no request for it", arguments: ["POST", "DELETE", "GET"])
    func silentRequests(method: String) async throws {
        try await withServer { server in
            let target = "/hub?id=\(try await Wire.negotiate(server))"
            try await withWire(server) { wire in
                #expect(try await wire.request("GET", target).status == 200)
                #expect(try await wire.request("POST", target, body: Self.handshake).status == 200)
                #expect(try await wire.request("GET", target).body == "{}\u{1E}")
                let connection = try #require(server.connections.first)
                connection.setSilent(true)
                let count = server.requests.count
                let head = "\(method) \(target) HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n"
                _ = try await wire.exchange(head, upTo: "")
                await server.waitForRequests { $0.count > count }
                server.sendAll("lost")
                await server.shutdown()
                #expect(await wire.endsSilently())
            }
        }
    }

    @Test("in memory, a server that is silent for one connection does not answer its close")
    func silenceInMemory() async throws {
        try await withServer(inMemory: true) { server in
            let builder = HubConnectionBuilder.patient.withUrl(url: server.url).withCloseTimeout(.seconds(3600))
            let connection = server.connect(builder).build()
            try await connection.start()
            let known = try #require(server.connections.first)
            known.setSilent(true)
            let stop = Task { await connection.stop() }
            await waitUntil { await connection.state() == .Stopped }
            for _ in 0..<1_000 { await Task.yield() }
            await server.forgetLostConnections()
            #expect(server.connections.count == 1)
            known.setSilent(false)
            server.dropConnections()
            await stop.value
        }
    }

    @Test(
        "with a faulty answer to the handshake, no refusal follows after the time limit",
        arguments: [TestHubHandshake.silence, .bytes([0x78])]
    )
    func faultyHandshakes(_ fault: TestHubHandshake) async throws {
        var options = TestHubOptions()
        options.handshakeTimeout = .milliseconds(100)
        try await withServer(options) { server in
            await server.setHandshake(fault)
            try await withWire(server) { wire in
                #expect(try await wire.open(early: Self.handshake))
                if fault != .silence { #expect(await wire.frame() == .text("x")) }
                try await pass(0.3, on: server)
                server.dropConnections()
                #expect(await wire.endsSilently())
            }
        }
    }

    @Test("a fault for no requests makes none fail")
    func noFaults() async throws {
        try await withServer { server in
            await server.fail(.negotiate, .status(500), times: 0)
            try await withWire(server) { wire in
                let answer = try await wire.request("POST", "/hub/negotiate")
                #expect(answer.status == 200)
            }
        }
    }

    @Test("cut and join can concern one connection")
    func cutAndJoinOne() async throws {
        try await withServer { server in
            try await withWire(server) { first in
                try await first.connect()
                try await withWire(server) { second in
                    try await second.connect()
                    let connection = try #require(server.connections.first)
                    connection.cut(intoPiecesOf: 1)
                    server.sendBytes([0x61, 0x62])
                    #expect(await first.frame() == Wire.Frame(head: 0x01, payload: [0x61]))
                    #expect(await first.frame() == Wire.Frame(head: 0x80, payload: [0x62]))
                    #expect(await second.frame() == .text("ab"))
                    connection.cut(intoPiecesOf: nil)
                    connection.join(messages: 2)
                    for _ in 0..<2 { server.sendBytes([0x63]) }
                    #expect(await first.frame() == .text("cc"))
                    #expect(await second.texts(2) == ["c", "c"])
                }
            }
        }
    }

    // MARK: Handlers of the beginning and the end

    @Test("a call and its upload wait for onConnected, which can ask the client")
    func uploadsBeforeTheStart() async throws {
        try await withServer { server in
            let (gate, open) = AsyncStream<Void>.makeStream()
            let names = Inbox<String>()
            server.onConnected { connection in
                let name = try? await connection.invoke("name", returning: String.self)
                names.add(name ?? "-")
                for await _ in gate { break }
            }
            server.on("sum", uploads: 1) { call in
                var sum = 0
                for try await number in call.upload(0, of: Int.self) { sum += number }
                return sum
            }
            server.on("wait") { (_: TestHubCall) in try await Task.sleep(for: .seconds(3_600)) }
            try await withWire(server) { wire in
                try await wire.connect()
                try await wire.call(
                    #"{"type":1,"invocationId":"1","target":"sum","arguments":[],"streamIds":["2"]}"#
                )
                for item in 1...3 { try await wire.call(#"{"type":2,"invocationId":"2","item":\#(item)}"#) }
                try await wire.call(#"{"type":3,"invocationId":"2"}"#)
                try await wire.call(#"{"type":1,"invocationId":"4","target":"wait","arguments":[]}"#)
                try await wire.call(#"{"type":5,"invocationId":"4"}"#)
                #expect(await wire.frame()?.text.contains(#""target":"name""#) == true)
                try await wire.call(#"{"type":3,"invocationId":"s1","result":"Ann"}"#)
                #expect(try await names.next() == "Ann")
                open.yield()
                let text = "An unexpected error occurred invoking 'wait' on the server."
                let expected = [
                    #"{"type":3,"invocationId":"1","result":6}"#, #"{"type":3,"invocationId":"4","error":"\#(text)"}"#,
                ]
                // The two methods run at the same time, so either can end first.
                #expect(await wire.texts(2).sorted() == expected.map { $0 + "\u{1E}" })
            }
        }
    }

    @Test("onDisconnected runs after onConnected, even if the client leaves early")
    func orderOfHandlers() async throws {
        try await withServer { server in
            let events = Inbox<String>()
            let (gate, open) = AsyncStream<Void>.makeStream()
            server.onConnected { _ in
                for await _ in gate { break }
                events.add("connected")
            }
            server.onDisconnected { _, _ in events.add("disconnected") }
            try await withWire(server) { wire in try await wire.connect() }
            await server.waitForDisconnections()
            for _ in 0..<1_000 { await Task.yield() }
            open.yield()
            #expect(await events.next(2) == ["connected", "disconnected"])
        }
    }

    @Test("onDisconnected gets the reason of the end")
    func reasons() async throws {
        try await withServer { server in
            let reasons = Inbox<String?>()
            server.onDisconnected { _, error in reasons.add(error) }
            func end(_ body: (Wire, TestHubConnection) async throws -> Void) async throws -> String? {
                try await withWire(server) { wire in
                    try await wire.connect()
                    try await body(wire, try #require(server.connections.last))
                }
                return try await reasons.next()
            }
            let reserved = "reserved bits are set"
            let ends: [(String?, (Wire, TestHubConnection) async throws -> Void)] = [
                (nil, { wire, _ in try await wire.send(0x88, [0x03, 0xE8]) }),
                (nil, { wire, _ in try await wire.call(#"{"type":7}"#) }),
                (nil, { _, connection in connection.drop() }), (nil, { _, connection in connection.close() }),
                ("enough", { _, connection in connection.close(error: "enough") }),
                (reserved, { wire, _ in try await wire.send(0xC1, []) }),
            ]
            for (expected, body) in ends {
                let reason = try await end(body)
                #expect(reason == expected)
            }
            let unreadable = try await end { wire, _ in try await wire.call("garbage") }
            #expect(unreadable?.isEmpty == false)
        }
    }

    @Test("onRefreshed gets the connection with the new token")
    func refreshed() async throws {
        var options = TestHubOptions()
        options.tokenLifetime = .seconds(3_600)
        try await withServer(options) { server in
            let tokens = Inbox<String?>()
            server.onRefreshed { connection in tokens.add(connection.headers["authorization"]) }
            let token = try await Wire.negotiate(server)
            try await withWire(server) { wire in
                try await wire.connect("/hub?id=\(token)")
                try await withWire(server) { other in
                    let id = token.removingPercentEncoding ?? ""
                    let fields = "Authorization: Bearer new\nX-SignalR-Connection-Token: \(id)\n"
                    let answer = try await other.request("POST", "/hub/refresh", fields: fields)
                    #expect(answer.status == 200)
                }
                #expect(try await tokens.next() == "Bearer new")
            }
        }
    }

    // MARK: Calls of clients

    @Test("a call with an argument that cannot be encoded is not sent, and is recorded")
    func unencodable() async throws {
        try await withServer { server in
            try await withWire(server) { wire in
                try await wire.connect()
                server.sendAll("a", Double.nan, 1)
                server.sendAll("b", 1)
                #expect(await wire.frame() == .text(#"{"type":1,"target":"b","arguments":[1]}"# + "\u{1E}"))
                #expect(server.failures.map(\.method) == ["a"])
                #expect(server.failures.map(\.connectionID) == server.connections.map(\.id))
            }
        }
    }

    @Test("a client's result of another type fails with ASP.NET Core's text")
    func wrongResult() async throws {
        try await withConnection { connection, server in
            await connection.on("name") { "Ann" }
            server.on("ask") { call in try await call.invoke("name", returning: Int.self) }
            let error = await #expect(throws: SignalRError.self) {
                let _: Int = try await connection.invoke(method: "ask")
            }
            let text = "HubException: Error trying to deserialize result to Int. "
            guard case .invocationError(let message) = error else { return #expect(error == nil) }
            #expect(message.contains(text))
        }
    }

    // MARK: Users

    @Test("a transport with another user than its negotiation gets 403")
    func changedUsers() async throws {
        var options = TestHubOptions()
        options.authorize = { request in .allow(userID: request.token) }
        try await withServer(options) { server in
            let target = "/hub?id=\(try await Wire.negotiate(server, "&access_token=ann"))"
            func fields(_ user: String) -> String { "Authorization: Bearer \(user)\n" }
            try await withWire(server) { wire in
                for accept in ["", "Accept: text/event-stream\n"] {
                    let answer = try await wire.request("GET", target, fields: fields("bob") + accept)
                    #expect(answer.status == 403)
                }
            }
            for (user, isOpen) in [("bob", false), ("ann", true)] {
                try await withWire(server) { wire in
                    let opened = try await wire.open(target, fields: fields(user))
                    #expect(opened == isOpen)
                }
            }
            let polled = "/hub?id=\(try await Wire.negotiate(server, "&access_token=ann"))"
            try await withWire(server) { wire in
                for (user, status) in [("ann", 200), ("bob", 403)] {
                    let answer = try await wire.request("GET", polled, fields: fields(user))
                    #expect(answer.status == status)
                }
            }
        }
    }

    // MARK: Paths

    @Test("slashes at the ends of a hub's path have no meaning", arguments: ["/", "hub", "/hub/", ""])
    func paths(_ path: String) async throws {
        var options = TestHubOptions()
        options.path = path
        try await withServer(options) { server in
            let other = try await server.addHub(at: "other/")
            server.respond(at: "health") { _ in TestHubResponse(text: "well") }
            await server.redirect(times: 1)
            for url in [server.url, server.url + "/", other.url] {
                let connection = HubConnectionBuilder.patient.withUrl(url: url).build()
                try await connection.start()
                try await connection.invoke(method: "nothing")
                await connection.stop()
            }
            try await withWire(server) { wire in
                let answer = try await wire.request("GET", "/health")
                #expect(answer.body == "well")
            }
        }
    }

    @Test("a hub that replaces another one survives the other's shutdown, and ends its connections")
    func replacedHubs() async throws {
        try await withServer { server in
            let first = try await server.addHub(at: "/x")
            try await withWire(server) { wire in
                try await wire.connect("/x")
                let second = try await server.addHub(at: "/x")
                #expect(await wire.endsSilently())
                await first.shutdown()
                try await withWire(server) { other in try await other.connect("/x") }
                #expect(second.connectionCount == 1)
            }
        }
    }

    @Test("the redirects of an added hub have the scheme of the server")
    func redirectsOfAddedHubs() async throws {
        var options = TestHubOptions()
        let certificates = TestCertificates()
        options.certificate = TestHubCertificate(
            certificateChain: certificates.serverPEM,
            privateKey: certificates.serverKeyPEM
        )
        try await withServer(options) { server in
            let hub = try await server.addHub(at: "/x", options: TestHubOptions())
            await hub.redirect(times: 1)
            var client = HttpConnectionOptions()
            client.tls = TLSOptions(trustRoots: .only(pem: certificates.rootPEM))
            let connection = HubConnectionBuilder.patient.withUrl(url: hub.url, options: client).build()
            try await connection.start()
            await connection.stop()
        }
    }

    @Test("a browser's preflight learns that the hub has DELETE")
    func preflight() async throws {
        try await withServer { server in
            try await withWire(server) { wire in
                let answer = try await wire.exchange(
                    """
                    OPTIONS /hub?id=x HTTP/1.1
                    Host: localhost
                    Origin: http://localhost:3000
                    Access-Control-Request-Method: DELETE


                    """,
                    upTo: "\r\n\r\n"
                )
                #expect(answer.contains("\r\nAccess-Control-Allow-Methods: GET, POST, DELETE\r\n"))
            }
        }
    }
}

/// Waits until an event loop of the server has passed a time. The timers of the server ran before.
func pass(_ seconds: Double, on server: SignalRTestServer) async throws {
    try await withWire(server) { wire in
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(seconds) {
            let answer = try await wire.request("GET", "/hub?id=none")
            #expect(answer.status == 404)
        }
    }
}
