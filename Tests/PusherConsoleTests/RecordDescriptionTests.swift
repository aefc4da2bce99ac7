import PusherProtocol
import PusherTestServer
import TestSupport
import TestTraits
import Testing
import WebSocketClient

@testable import pusher

@Suite("Records in words", .limited)
struct RecordDescriptionTests {
    /// Returns the output of `serve --verbose` for the records of a server, without the padding between columns.
    private func lines(_ body: (PusherTestServer) async throws -> Void) async throws -> [String] {
        var options = PusherTestServer.Options()
        options.socketIDPrefix = 7
        return try await PusherTestServer.withServer(options: options) { server in
            try await body(server)
            return server.records.map { record in
                RecordDescription(record).line.replacing(#/ +/#, with: " ")
            }
        }
    }

    @Test("each record is one line with a subject and a verb, but without a signature")
    func conversation() async throws {
        let lines = try await lines { server in
            let client = try await WebSocket.connect(
                to: "ws://127.0.0.1:\(server.port)/app/app-key?client=test&version=1"
            )
            let auth = server.authorization(forSocket: "7.1", channel: "private-chat").auth
            try await client.send(Envelope.subscribe(channel: "private-chat", auth: auth).jsonText)
            try await server.waitForSubscription(to: "private-chat", timeout: .patience)
            try server.publish(event: "created", data: #"{"id":1}"#, to: "private-chat")
            try await client.send("no message\u{1B}[2J")
            try await server.nextRecord(timeout: .patience) { $0.event == .messageReceived("no message\u{1B}[2J") }
            try client.close()
            try await server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
        }
        #expect(lines.prefix(2) == ["7.1 connects test 1", "7.1 connected "])
        #expect(lines.contains("7.1 sent pusher:subscribe on private-chat"))
        #expect(lines.contains("7.1 subscribed private-chat"))
        #expect(lines.contains(#"7.1 got created on private-chat {"id":1}"#))
        #expect(lines.contains(#"7.1 sent a text message no message\u{1B}[2J"#))
        #expect(lines.contains("7.1 sent close 1000"))
        #expect(lines.last == "7.1 ended ")
        #expect(!lines.contains { $0.contains("app-key:") || $0.contains("PusherTestServer") })
    }

    @Test("a request of a backend shows the published event")
    func backend() {
        func description(_ method: String, _ target: String, _ body: String, status: Int = 200) -> RecordDescription {
            let request = PusherTestServer.Request(method: method, target: target, body: Array(body.utf8))
            return RecordDescription(request: request, status: status)
        }
        let one = description(
            "POST",
            "/apps/1/events?auth_signature=s",
            #"{"name":"e","channels":["a","b"],"data":"{}"}"#
        )
        #expect(one.verb == "published" && one.subject == "e" && one.channel == "a, b" && one.detail == "{}")
        let batch = #"{"batch":[{"name":"e","channel":"a","data":"1"},{"name":"f","channel":"b","data":"2"}]}"#
        let several = description("POST", "/apps/1/batch_events", batch)
        #expect(several.subject == "2 events" && several.channel == "a, b")
        let refused = description("POST", "/apps/1/events?auth_signature=s", "{}", status: 401)
        #expect(refused.line.hasSuffix("POST /apps/1/events 401"))
        #expect(description("GET", "/apps/1/channels", "").line.hasSuffix("GET /apps/1/channels 200"))
    }

    @Test("strings from clients stay in one line, without control characters")
    func oneLine() {
        #expect(
            "a\nb\u{1B}[2J\u{202E}c\u{2028}".inOneLine(limit: 50)
                == #"a\u{0A}b\u{1B}[2J\u{202E}c\u{2028}"#.replacing(#"\u{0A}"#, with: #"\n"#)
        )
        #expect("häuser".inOneLine(limit: 3) == "häu… (7 bytes)")
    }
}
