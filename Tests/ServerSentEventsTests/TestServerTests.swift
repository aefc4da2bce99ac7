import EventSourceTestServer
import Foundation
import ServerSentEvents
import TestTraits
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The scripted server of event streams", .limited)
struct TestServerTests {
    @Test("reads and writes scripts as JSON")
    func json() throws {
        let json = """
            [{"status": 503, "headers": {"Retry-After": "1", "Content-Type": null}},
             {"steps": [{"send": "data: a\\n\\n"}, {"hex": "e282ac"}, {"wait": 0.5}, {"every": 0.25, "send": ":", "times": 3},
                        {"bench": {"count": 2, "data": "x"}}, {"reset": true}, {"disconnect": true}], "hold": true}]
            """
        let expected = [
            TestResponse(status: 503, headers: ["Retry-After": "1", "Content-Type": nil]),
            TestResponse(
                steps: [
                    .send("data: a\n\n"), .bytes([0xE2, 0x82, 0xAC]), .wait(.milliseconds(500)),
                    .every(.milliseconds(250), send: ":", times: 3), .events(count: 2, data: "x"), .reset, .disconnect,
                ],
                holds: true
            ),
        ]
        let script = try JSONDecoder().decode([TestResponse].self, from: Data(json.utf8))
        #expect(script == expected)
        let again = try JSONDecoder().decode([TestResponse].self, from: JSONEncoder().encode(script))
        #expect(again == script)
        for wrong in [#"[{"steps": [{"hex": "e"}]}]"#, #"[{"steps": [{"hex": "zz"}]}]"#, #"[{"steps": [{}]}]"#] {
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode([TestResponse].self, from: Data(wrong.utf8))
            }
        }
    }

    @Test("the server carries out steps in order, and repeats the last response")
    func steps() async throws {
        try await EventSourceTestServer.withServer { server in
            let steps: [TestResponse.Step] = [
                .events(count: 2, data: "a"), .wait(.milliseconds(1)),
                .every(.milliseconds(1), send: "data: b\n\n", times: 2), .bytes(Array("data: c\n\n".utf8)),
            ]
            server.script([TestResponse(status: 404), TestResponse(steps: steps)], at: "/feed")
            #expect(
                await Recording(EventStream(server.url + "/feed?query", connector: .patient)).end()?.httpStatus == 404
            )
            for _ in 1...2 {
                var data: [String] = []
                for try await event in EventStream(server.url + "/feed", options: .once, connector: .patient).events {
                    data.append(event.data)
                }
                #expect(data == ["a", "a", "b", "b", "c"])
            }
            #expect(server.requests.map(\.target) == ["/feed?query", "/feed", "/feed"])
            #expect(await Recording(EventStream(server.url + "/other", connector: .patient)).end()?.httpStatus == 404)
        }
    }

    @Test("answers without a stream are one line")
    func shortAnswers() async throws {
        struct Token: Encodable { var token: String }
        try await EventSourceTestServer.withServer { server in
            server.respond(at: "/text") { try await $0.respond(json: #"{"a":1"#, status: 201, headers: ["X-A": "b"]) }
            server.respond(at: "/value") { try await $0.respond(json: Token(token: "a/b")) }
            server.respond(at: "/type") {
                try await $0.respond(json: "{}", headers: ["content-type": "text/x", "x-a": nil])
            }
            server.respond(at: "/status") { try await $0.respond(status: 503) }
            server.respond(at: "/none") { try await $0.respond(status: 204) }
            let answers: [(String, Int, String, String?)] = [
                ("text", 201, #"{"a":1"#, "application/json"), ("value", 200, #"{"token":"a/b"}"#, "application/json"),
                ("type", 200, "{}", "text/x"), ("status", 503, "", nil), ("none", 204, "", nil),
            ]
            for (path, status, body, type) in answers {
                let url = try #require(URL(string: "\(server.url)/\(path)"))
                let (data, response) = try await URLSession.shared.data(from: url)
                let http = try #require(response as? HTTPURLResponse)
                #expect(http.statusCode == status && String(decoding: data, as: UTF8.self) == body)
                #expect(http.value(forHTTPHeaderField: "Content-Type") == type, "\(path)")
                #expect(http.value(forHTTPHeaderField: "X-A") == (path == "text" ? "b" : nil))
            }
        }
    }

    @Test("a task that waits for requests returns when it is cancelled, and when the server stops")
    @MainActor
    func waitsEnd() async throws {
        let server = try await EventSourceTestServer.start()
        let cancelled = Task { await server.waitForRequests() }
        // The main actor runs tasks in order, so the first task is already waiting.
        await Task {}.value
        cancelled.cancel()
        await cancelled.value
        let waiting = Task { await server.waitForRequests() }
        await Task {}.value
        await server.shutdown()
        await waiting.value
    }

    @Test("a script can contain very large and very small numbers")
    func numbers() async throws {
        let json = #"[{"steps": [{"every": 0, "send": "x", "times": -1}, {"send": "data: a\n\n"}, {"wait": 1e300}]}]"#
        let script = try JSONDecoder().decode([TestResponse].self, from: Data(json.utf8))
        try await EventSourceTestServer.withServer { server in
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            server.script(script, at: "/script")
            server.respond { exchange in
                defer { end.yield() }
                try await exchange.start()
                try await exchange.send("data: a\n\n")
                try await exchange.wait(for: .seconds(Int64.max))
            }
            for path in ["/script", "/"] {
                for try await event in EventStream(server.url + path, connector: .patient).events {
                    #expect(event.data == "a")
                    break
                }
            }
            await ends.first { _ in true }
        }
    }

    @Test("the server can delete its recorded requests and close its connections")
    func control() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open("data: a\n\n"), TestResponse(status: 204)])
            let recording = Recording(EventStream(server.url, options: .quick, connector: .patient))
            #expect(await recording.nextEvent() != nil)
            #expect(server.connectionCount == 1)
            server.dropConnections()
            #expect(await recording.end() == nil)
            server.forgetRequests()
            #expect(server.requests.isEmpty)
        }
    }
}
