import NIOCore
import NIOEmbedded
import SignalRClient
import TestTraits
import Testing

@testable import RealtimeTestHTTP
@testable import SignalRTestServer

/// Tests that the test hub does what ASP.NET Core does, byte by byte.
@Suite("The test hub beside ASP.NET Core", .limited) struct TestHubBehaviourTests {
    private static let handshake = #"{"protocol":"json","version":1}"# + "\u{1E}"

    /// Opens a connection that polls.
    private func poll(_ server: SignalRTestServer, _ wire: Wire) async throws -> String {
        let target = "/hub?id=\(try await Wire.negotiate(server))"
        #expect(try await wire.request("GET", target).status == 200)
        #expect(try await wire.request("POST", target, body: Self.handshake).status == 200)
        #expect(try await wire.request("GET", target).body == "{}\u{1E}")
        return target
    }

    // MARK: Pieces

    @Test("cut makes fragments of one WebSocket message, and a piece may end within a character")
    func fragments() async throws {
        try await withServer { server in
            try await withWire(server) { wire in
                try await wire.connect()
                await server.cut(intoPiecesOf: 1)
                server.sendBytes(Array("é\u{1E}".utf8))
                let expected: [(UInt8, UInt8)] = [(0x01, 0xC3), (0x00, 0xA9), (0x80, 0x1E)]
                for (head, byte) in expected {
                    #expect(await wire.frame() == Wire.Frame(head: head, payload: [byte]))
                }
            }
        }
    }

    @Test("with cut, each client of ours gets whole text", arguments: Route.all)
    func cutText(_ route: Route) async throws {
        try await withConnection(route) { connection, server in
            await server.cut(intoPiecesOf: 1)
            let text: String = try await connection.invoke(method: "echo", arguments: "é😀")
            #expect(text == "é😀")
        }
    }

    @Test("with cut, an event stays whole in its stream")
    func cutEvents() async throws {
        try await withServer { server in
            let token = try await Wire.negotiate(server)
            try await withWire(server) { events in
                _ = try await events.exchange(
                    "GET /hub?id=\(token) HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n\n",
                    upTo: ":\r\n\r\n"
                )
                await server.cut(intoPiecesOf: 3)
                try await withWire(server) { wire in
                    _ = try await wire.request("POST", "/hub?id=\(token)", body: Self.handshake)
                }
                // The chunks of "data: {}␞\r\n\r\n".
                let text = await events.receive(upTo: "1\r\n\n\r\n")
                #expect(text == "3\r\ndat\r\n3\r\na: \r\n3\r\n{}\u{1E}\r\n3\r\n\r\n\r\r\n1\r\n\n\r\n")
            }
        }
    }

    @Test("with cut, a poll's answer has one length and the whole body")
    func cutPolls() async throws {
        try await withServer { server in
            try await withWire(server) { wire in
                let target = try await poll(server, wire)
                await server.cut(intoPiecesOf: 2)
                server.sendBytes(Array("é\u{1E}abc".utf8))
                let answer = try await wire.exchange("GET \(target) HTTP/1.1\nHost: localhost\n\n", upTo: "abc")
                let head = answer.prefix(while: { $0 != "é" })
                #expect(head.hasSuffix("\r\n\r\n") && head.contains("\r\nContent-Length: 6\r\n"))
                #expect(!head.contains("Transfer-Encoding") && answer.hasSuffix("\r\n\r\né\u{1E}abc"))
            }
        }
    }

    @Test("with cut, the body of a poll's answer is written in pieces, which can end within a character")
    func piecesOfPolls() throws {
        let channel = EmbeddedChannel()
        let link = PollLink(limit: 1_000, on: channel.eventLoop) { _ in }
        link.poll(HTTPTestExchange(channel, .init(isLast: false)))
        link.write(Array("aé\u{1E}bc".utf8), isBinary: false, pieceSize: 2)
        channel.embeddedEventLoop.run()
        var pieces: [[UInt8]] = []
        while let piece = try channel.readOutbound(as: ByteBuffer.self) {
            pieces.append(Array(piece.readableBytesView))
        }
        // The first one is the head.
        #expect(pieces.dropFirst().filter { !$0.isEmpty } == [[0x61, 0xC3], [0xA9, 0x1E], [0x62, 0x63]])
    }

    @Test("join sends several messages in one event, and in one poll's answer")
    func joinedElsewhere() async throws {
        let message = #"{"type":1,"target":"a","arguments":[]}"# + "\u{1E}"
        try await withServer { server in
            try await withEvents(server) { events, _ in
                _ = await events.receive(upTo: "{}\u{1E}\r\n\r\n\r\n")
                await server.join(messages: 2)
                for _ in 0..<2 { server.sendAll("a") }
                #expect(await events.receive(upTo: "\r\n\r\n\r\n").contains("data: \(message)\(message)\r\n"))
            }
        }
        try await withServer { server in
            try await withWire(server) { wire in
                let target = try await poll(server, wire)
                await server.join(messages: 2)
                let count = server.requests.count
                _ = try await wire.exchange("GET \(target) HTTP/1.1\nHost: localhost\n\n", upTo: "")
                // The poll waits for messages before the server sends the first.
                await server.waitForRequests { $0.count > count }
                for _ in 0..<2 { server.sendAll("a") }
                #expect(try await wire.answer().body == message + message)
            }
        }
    }

    @Test("join sends several messages in one frame")
    func joined() async throws {
        try await withServer { server in
            try await withWire(server) { wire in
                try await wire.connect()
                await server.join(messages: 3)
                for _ in 0..<4 { server.sendAll("a") }
                let message = #"{"type":1,"target":"a","arguments":[]}"# + "\u{1E}"
                #expect(await wire.texts(2) == [message + message + message, message])
            }
        }
    }

    // MARK: Polling

    @Test("an answer that becomes ready after a poll was cut comes with the next poll")
    func cutPoll() async throws {
        try await withServer { server in
            let ready = AsyncStream<Void>.makeStream()
            server.on("wait") { (_: TestHubCall) in for await _ in ready.stream { break } }
            try await withWire(server) { wire in
                let target = try await poll(server, wire)
                let call = #"{"type":1,"invocationId":"1","target":"wait","arguments":[]}"# + "\u{1E}"
                #expect(try await wire.request("POST", target, body: call).status == 200)
                let count = server.requests.count
                try await withWire(server) { other in
                    _ = try await other.exchange("GET \(target) HTTP/1.1\nHost: localhost\n\n", upTo: "")
                    await server.waitForRequests { $0.count > count }
                }
                // The server notices the end of the poll's TCP connection in a later turn of its event loop.
                for _ in 0..<100 { #expect(try await wire.request("GET", "/hub?id=x").status == 404) }
                ready.continuation.yield()
                let answer = #"{"type":3,"invocationId":"1","result":null}"# + "\u{1E}"
                #expect(try await wire.request("GET", target).body == answer)
            }
        }
    }

    @Test("polls get no pings, so an idle poll ends after the timeout")
    func idlePoll() async throws {
        var options = TestHubOptions()
        options.keepAliveInterval = .milliseconds(20)
        options.pollTimeout = .milliseconds(200)
        try await withServer(options) { server in
            try await withWire(server) { wire in
                let target = try await poll(server, wire)
                let answer = try await wire.request("GET", target)
                #expect(answer.status == 200 && answer.body.isEmpty)
            }
        }
    }

    @Test("the client's Close gets a Close, and then the end")
    func closes() async throws {
        try await withServer { server in
            try await withWire(server) { wire in
                let target = try await poll(server, wire)
                #expect(try await wire.request("POST", target, body: "{\"type\":7}\u{1E}").status == 200)
                #expect(try await wire.request("GET", target).body == "{\"type\":7}\u{1E}")
                #expect(try await wire.request("GET", target).status == 204)
                #expect(try await wire.request("GET", target).status == 404)
            }
            try await withEvents(server) { events, token in
                try await withWire(server) { wire in
                    _ = try await wire.request("POST", "/hub?id=\(token)", body: "{\"type\":7}\u{1E}")
                }
                // The stream ends with the last chunk, and not by a cut.
                #expect(await events.receive(upTo: "\r\n0\r\n\r\n").contains("data: {\"type\":7}\u{1E}"))
            }
            // A WebSocket closes with code 1000: see `lifetimes` in the other suite.
        }
    }

    // MARK: WebSockets

    @Test("nothing follows the close frame")
    func afterTheClose() async throws {
        var options = TestHubOptions()
        options.keepAliveInterval = .milliseconds(10)
        try await withServer(options) { server in
            try await withWire(server) { wire in
                try await wire.connect()
                server.closeConnections(error: "a", allowReconnect: true)
                server.closeConnections(error: "b")
                server.sendAll("late")
                let close = #"{"type":7,"error":"a","allowReconnect":true}"# + "\u{1E}"
                #expect(await wire.frame() == .text(close))
                #expect(await wire.frame() == .close(1000))
                try await wire.call(#"{"type":1,"invocationId":"1","target":"nothing","arguments":[]}"#)
                try await wire.send(0x88, [0x03, 0xE8])
                #expect(await wire.endsSilently())
            }
        }
    }

    @Test("no acknowledgement follows the close frame")
    func acknowledgementAfterTheClose() async throws {
        try await withServer { server in
            let token = try await Wire.negotiate(server, "&useStatefulReconnect=true")
            try await withWire(server) { wire in
                try await wire.connect("/hub?id=\(token)", version: 2)
                try await wire.call(#"{"type":1,"target":"nothing","arguments":[]}"#)
                await server.waitForMessage { if case .invocation = $0 { true } else { false } }
                server.closeConnections()
                #expect(await wire.frame() == .text("{\"type\":7}\u{1E}"))
                #expect(await wire.frame() == .close(1000))
                // An acknowledgement would come after a second.
                try await pass(1.2, on: server)
                try await wire.send(0x88, [0x03, 0xE8])
                #expect(await wire.endsSilently())
            }
        }
    }

    @Test("version 2 of the handshake over events makes no connection that can be resumed")
    func versionTwoOverEvents() async throws {
        var options = TestHubOptions()
        options.disconnectTimeout = .seconds(3_600)
        try await withServer(options) { server in
            let handshake = #"{"protocol":"json","version":2}"#
            try await withEvents(server, "&useStatefulReconnect=true", handshake: handshake) { events, _ in
                _ = await events.receive(upTo: "{}\u{1E}")
            }
            // The server would keep a connection that can be resumed.
            await server.waitForDisconnections()
        }
    }

    @Test("an unreadable or long message closes the connection with ASP.NET Core's text, and allows a reconnect")
    func unreadable() async throws {
        let long = #"{"type":1,"target":"a","arguments":["\#(String(repeating: "x", count: 32_768))"]}"#
        for message in ["garbage", #"{"type":1,"target":"a"}"#, long] {
            try await withServer { server in
                try await withWire(server) { wire in
                    try await wire.connect()
                    try await wire.call(message)
                    let text = #"{"type":7,"error":"Connection closed with an error.","allowReconnect":true}"#
                    #expect(await wire.frame() == .text(text + "\u{1E}"))
                    #expect(await wire.frame() == .close(1000))
                }
            }
        }
    }

    @Test("a connection can be resumed only after a negotiation, a handshake of version 2, and no close with 1000")
    func resumable() async throws {
        let cases: [(query: String, version: Int, closes: Bool, isResumable: Bool)] = [
            ("&useStatefulReconnect=true", 2, false, true), ("", 2, false, false),
            ("&useStatefulReconnect=true", 1, false, false), ("&useStatefulReconnect=true", 2, true, false),
        ]
        for (query, version, closes, isResumable) in cases {
            try await withServer { server in
                let target = "/hub?id=\(try await Wire.negotiate(server, query))"
                try await withWire(server) { wire in
                    try await wire.connect(target, version: version)
                    if closes {
                        try await wire.send(0x88, [0x03, 0xE8])
                        #expect(await wire.frame() == .close(1000))
                    }
                }
                if !isResumable { await server.waitForDisconnections() }
                try await withWire(server) { wire in
                    let isOpen = try await wire.open(target)
                    #expect(isOpen == isResumable)
                }
            }
        }
    }

    @Test("the server acknowledges once a second, with the newest number")
    func acknowledgements() async throws {
        try await withServer { server in
            let token = try await Wire.negotiate(server, "&useStatefulReconnect=true")
            try await withWire(server) { wire in
                try await wire.connect("/hub?id=\(token)", version: 2)
                for _ in 0..<5 { try await wire.call(#"{"type":1,"target":"nothing","arguments":[]}"#) }
                #expect(await wire.frame() == .text(#"{"type":8,"sequenceId":5}"# + "\u{1E}"))
            }
        }
    }

    // MARK: Calls that wait

    @Test("a method with uploads does not hold up later calls")
    func uploadsBesideCalls() async throws {
        try await withServer { server in
            server.on("Sum", uploads: 1) { (call: TestHubCall) in
                var sum = 0
                for try await number in call.upload(0, of: Int.self) { sum += number }
                return sum
            }
            server.on("Twice") { (_, number: Int) in number * 2 }
            try await withWire(server) { wire in
                try await wire.connect()
                try await wire.call(#"{"type":1,"invocationId":"1","target":"Sum","arguments":[],"streamIds":["u"]}"#)
                try await wire.call(#"{"type":1,"invocationId":"2","target":"Twice","arguments":[21]}"#)
                #expect(await wire.frame() == .text(#"{"type":3,"invocationId":"2","result":42}"# + "\u{1E}"))
                try await wire.call(#"{"type":2,"invocationId":"u","item":5}"#)
                try await wire.call(#"{"type":3,"invocationId":"u"}"#)
                #expect(await wire.frame() == .text(#"{"type":3,"invocationId":"1","result":5}"# + "\u{1E}"))
            }
        }
    }

    @Test("a connection ends if too many bytes wait in an upload, or in calls", arguments: [true, false])
    func waitingBytes(inUpload: Bool) async throws {
        var options = TestHubOptions()
        options.maximumQueueSize = 1_000
        try await withServer(options) { server in
            let (never, continuation) = AsyncStream.makeStream(of: Int.self)
            server.on("Hold", uploads: inUpload ? 1 : 0) { (_: TestHubCall) in
                for await _ in never {}
            }
            server.on("Take") { (_, _: String) in }
            try await withWire(server) { wire in
                try await wire.connect()
                let streams = inUpload ? #","streamIds":["u"]"# : ""
                try await wire.call(#"{"type":1,"target":"Hold","arguments":[]\#(streams)}"#)
                let text = String(repeating: "x", count: 400)
                for _ in 1...3 {
                    try await wire.call(
                        inUpload
                            ? #"{"type":2,"invocationId":"u","item":"\#(text)"}"#
                            : #"{"type":1,"target":"Take","arguments":["\#(text)"]}"#
                    )
                }
                #expect(await wire.frame() == nil)
            }
            await server.waitForDisconnections()
            continuation.finish()
        }
    }

    @Test("items that the method has read do not count toward the limit of an upload")
    func readBytes() async throws {
        var options = TestHubOptions()
        options.maximumQueueSize = 1_000
        try await withServer(options) { server in
            server.on("Measure", uploads: 1) { (call: TestHubCall) in
                for try await text in call.upload(0, of: String.self) { try call.send("size", text.count) }
            }
            try await withWire(server) { wire in
                try await wire.connect()
                try await wire.call(#"{"type":1,"target":"Measure","arguments":[],"streamIds":["u"]}"#)
                let text = String(repeating: "x", count: 400)
                for _ in 1...5 {
                    try await wire.call(#"{"type":2,"invocationId":"u","item":"\#(text)"}"#)
                    #expect(await wire.frame()?.text.contains(#""arguments":[400]"#) == true)
                }
            }
        }
    }

    // MARK: The end of a server

    @Test("a server that the app releases ends its connections")
    func released() async throws {
        var server: SignalRTestServer? = try await .start()
        let wire = try await Wire(port: server?.port ?? 0)
        try await wire.connect()
        server = nil
        #expect(await wire.frame() == nil)
    }

    @Test("a hub in memory has no other hubs")
    func hubInMemory() async throws {
        let server = try await SignalRTestServer.inMemory()
        let error = await #expect(throws: SignalRClientError.self) { try await server.addHub(at: "/other") }
        #expect(error?.message.hasPrefix("Hub not added: a hub in memory has no port to share.") == true)
        await server.shutdown()
    }

    // MARK: Texts

    @Test("calls and handshakes that fail get ASP.NET Core's texts")
    func texts() async throws {
        let failed = "Failed to invoke"
        let calls = [
            (1, "nope", "[]", "\(failed) 'nope' due to an error on the server. HubException: Method does not exist."),
            (4, "nope", "[]", "\(failed) 'nope' due to an error on the server. HubException: Method does not exist."),
            (1, "ADD", #"["x",1]"#, "\(failed) 'Add' due to an error on the server."),
            (1, "Add", "[1]", "\(failed) 'Add' due to an error on the server."),
            (
                4, "Add", "[1,1]",
                "The client attempted to invoke the non-streaming 'Add' method with a streaming invocation."
            ),
            (
                1, "Count", "[]",
                "The client attempted to invoke the streaming 'Count' method with a non-streaming invocation."
            ),
            (1, "Throw", "[]", "An unexpected error occurred invoking 'Throw' on the server. HubException: no"),
            (1, "echo", #"["a","b"]"#, "\(failed) 'echo' due to an error on the server."),
            (1, "nothing", "[1]", "\(failed) 'nothing' due to an error on the server."),
            (4, "counter", "[1,0,1]", "\(failed) 'counter' due to an error on the server."),
        ]
        try await withServer { server in
            server.on("Add") { (_, a: Int, b: Int) in a + b }
            server.on("Count") { _ in AsyncStream<Int> { $0.finish() } }
            server.on("Throw") { (_: TestHubCall) throws -> Int in throw HubError("no") }
            server.on("Path") { (_, text: String) in text }
            server.on("Sum", uploads: 1) { (call: TestHubCall) in
                for try await _ in call.upload(0, of: Int.self) {}
            }
            try await withWire(server) { wire in
                try await wire.connect()
                for (type, method, arguments, error) in calls {
                    try await wire.call(
                        #"{"type":\#(type),"invocationId":"1","target":"\#(method)","arguments":\#(arguments)}"#
                    )
                    #expect(
                        await wire.frame() == .text(#"{"type":3,"invocationId":"1","error":"\#(error)"}"# + "\u{1E}")
                    )
                }
                try await wire.call(#"{"type":1,"invocationId":"1","target":"Sum","arguments":[],"streamIds":["u"]}"#)
                try await wire.call(#"{"type":2,"invocationId":"u","item":"x"}"#)
                let error = "An unexpected error occurred invoking 'Sum' on the server. HubException: "
                let reason = "Failed to bind Stream message."
                #expect(await wire.frame()?.text.contains(#""error":"\#(error)\#(reason)""#) == true)
                let reasons = server.failures.filter { $0.method == "Sum" }.map(\.reason)
                #expect(reasons.first?.hasPrefix("The item does not fit 'Int': ") == true)
                for (method, arguments, result) in [("Path", #"["a/é"]"#, #""a/é""#), ("nothing", "[]", "null")] {
                    try await wire.call(
                        #"{"type":1,"invocationId":"1","target":"\#(method)","arguments":\#(arguments)}"#
                    )
                    #expect(
                        await wire.frame() == .text(#"{"type":3,"invocationId":"1","result":\#(result)}"# + "\u{1E}")
                    )
                }
            }
            for (request, error) in [
                (#"{"protocol":"json","version":3}"#, "The server does not support version 3 of the 'json' protocol."),
                (#"{"protocol":"xml","version":1}"#, "The protocol 'xml' is not supported."),
                (#"{"type":6}"#, "An unexpected error occurred during connection handshake."),
            ] {
                try await withWire(server) { wire in
                    #expect(try await wire.open())
                    try await wire.call(request)
                    #expect(await wire.frame() == .text(#"{"error":"\#(error)"}"# + "\u{1E}"))
                    #expect(await wire.frame() == .close(1000))
                }
            }
        }
    }

    // MARK: HTTP

    @Test("requests get the statuses of HTTP and of ASP.NET Core")
    func statuses() async throws {
        try await withServer { server in
            let token = try await Wire.negotiate(server)
            try await withWire(server) { socket in
                try await socket.connect("/hub?id=\(token)")
                try await withWire(server) { wire in
                    for (method, target, status, body) in [
                        ("PUT", "/hub?id=\(token)", 405, ""), ("HEAD", "/hub?id=\(token)", 405, ""),
                        ("GET", "/hub/negotiate", 405, ""), ("POST", "/hub", 400, "Connection ID required"),
                        ("GET", "/hub?id=x", 404, "No Connection with that ID"),
                        ("GET", "/hub?id=\(token)", 400, "Cannot change transports mid-connection"),
                        (
                            "DELETE", "/hub?id=\(token)", 400,
                            "Cannot terminate this connection using the DELETE endpoint."
                        ),
                        ("POST", "/hub/negotiate/?negotiateVersion=1", 200, nil),
                    ] as [(String, String, Int, String?)] {
                        let answer = try await wire.request(method, target)
                        #expect(answer.status == status, "\(method) \(target)")
                        if let body { #expect(answer.body == body) }
                    }
                }
                try await withWire(server) { wire in
                    let isOpen = try await wire.open("/hub?id=\(token)")
                    #expect(!isOpen)
                }
            }
            try await withWire(server) { wire in
                let answer = try await wire.request("POST", "/hub/negotiate", fields: "Connection: close\n")
                #expect(answer.status == 200)
                #expect(await wire.endsSilently())
            }
        }
    }
}
