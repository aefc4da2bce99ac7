import EventSourceTestServer
import Foundation
import MCPClient
import ServerSentEvents
import Testing

@Suite struct MCPClientTests {
    @Test func callsTheToolsOfASession() async throws {
        try await EventSourceTestServer.withServer { server in
            server.respond(at: "/mcp", answer)
            let client = MCPClient(server.url + "/mcp")
            try await client.connect()
            #expect(try await client.tools().map(\.name) == ["count"])
            var progress: [Double?] = []
            let result = try await client.callTool("count", ["n": 3]) { progress.append($0.progress) }
            #expect(result.content.map(\.text) == ["counted to 3"])
            #expect(progress == [1, 2, 3], "the stream is cut after 1, and resumed")
            await #expect(throws: MCPClient.Failure.self) { try await client.callTool("unknown", [:]) }
            await client.close()

            let requests = server.requests
            #expect(requests.map(\.method) == ["POST", "POST", "POST", "POST", "GET", "POST", "DELETE"])
            #expect(requests[0].header("Mcp-Session-Id") == nil)
            #expect(requests.dropFirst().allSatisfy { $0.header("Mcp-Session-Id") == "one" })
            #expect(requests.dropFirst().allSatisfy { $0.header("MCP-Protocol-Version") == "2025-06-18" })
            #expect(requests[4].header("Last-Event-ID") == "1")
        }
    }

    /// The real server has no sessions, so it answers the DELETE with 405.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["ASPNET_HUB_URL"] != nil))
    func callsTheToolsOfMicrosoftsServer() async throws {
        let url = try #require(ProcessInfo.processInfo.environment["ASPNET_HUB_URL"])
        let client = MCPClient(url + "/mcp")
        try await client.connect()
        #expect(try await client.tools().map(\.name).sorted() == ["add", "count"])
        #expect(try await client.callTool("add", ["a": 1, "b": 2]).content.map(\.text) == ["3"])
        var progress: [Double?] = []
        let result = try await client.callTool("count", ["n": 5]) { progress.append($0.progress) }
        #expect(result.content.map(\.text) == ["counted to 5"])
        #expect(progress == [1, 2, 3, 4, 5])
        await client.close()
    }

    /// A server with one session and one tool, which counts. It answers the call of the tool with events, and cuts them
    /// after the first one. It answers the other calls with one JSON object.
    @Sendable private func answer(_ exchange: TestExchange) async throws {
        func progress(_ number: Int) -> String {
            let params = #"{"progress":\#(number)}"#
            return "id: \(number)\ndata: {\"method\":\"notifications/progress\",\"params\":\(params)}\n\n"
        }
        func send(_ json: String, session: String? = nil) async throws {
            let fields = ["Content-Type": "application/json"].merging(session.map { ["Mcp-Session-Id": $0] } ?? [:]) {
                $1
            }
            try await exchange.start(headers: fields)
            try await exchange.send(json)
        }
        switch exchange.request.method {
        case "GET":
            try await exchange.start()
            try await exchange.send(progress(2) + progress(3))
            let result = #"{"content":[{"type":"text","text":"counted to 3"}]}"#
            try await exchange.send("id: 4\ndata: {\"id\":3,\"result\":\(result)}\n\n")
        case "DELETE":
            try await exchange.start(status: 204, headers: ["Content-Type": nil], framing: .untilClose)
        default:
            let call = try JSONDecoder().decode(Call.self, from: Data(exchange.request.body))
            switch (call.method, call.params?.name) {
            case ("initialize", _):
                try await send(#"{"id":1,"result":{"protocolVersion":"2025-06-18"}}"#, session: "one")
            case ("notifications/initialized", _):
                try await exchange.start(status: 202, headers: ["Content-Type": nil])
            case ("tools/list", _):
                try await send(#"{"id":2,"result":{"tools":[{"name":"count"}]}}"#)
            case (_, "count"):
                try await exchange.start()
                try await exchange.send("retry: 10\n" + progress(1))
                return try await exchange.disconnect()
            default:
                try await send(#"{"id":4,"error":{"code":-32602,"message":"Unknown tool"}}"#)
            }
        }
        try await exchange.end()
    }

    private struct Call: Decodable {
        struct Parameters: Decodable { var name: String? }
        var method: String
        var params: Parameters?
    }
}
