import ServerSentEvents

/// A client of a Model Context Protocol server: JSON-RPC over streamable HTTP, protocol version 2025-06-18.
package actor MCPClient {
    package struct Tool: Decodable, Sendable { package let name: String, description: String? }
    package struct Progress: Decodable, Sendable { package let progress: Double?, total: Double? }
    package struct Content: Decodable, Sendable { package let type: String, text: String? }
    package struct ToolResult: Decodable, Sendable { package let content: [Content], isError: Bool? }
    package struct Failure: Decodable, Error { package let code: Int, message: String }

    /// The server answers with a stream of events, or with one JSON object. A lost stream is resumed by a GET.
    private static let options: EventStreamOptions = {
        var options = EventStreamOptions()
        options.reconnection = .resumable
        options.wholeContentTypes = ["application/json"]
        return options
    }()
    private let url: String
    /// The session and the protocol version, once the server has named them.
    private var headers: HTTPHeaderFields = [:]
    private var lastID = 0

    package init(_ url: String) { self.url = url }

    package func connect() async throws {
        struct Parameters: Encodable {
            var protocolVersion = "2025-06-18", capabilities: [String: String] = [:]
            var clientInfo = ["name": "example", "version": "1"]
        }
        struct Result: Decodable { let protocolVersion: String }
        let result: Result = try await call("initialize", Parameters())
        headers["MCP-Protocol-Version"] = result.protocolVersion
        let message = Message<String>(id: nil, method: "notifications/initialized", params: nil)
        let request = try EventStreamRequest(url, headers: headers, json: message)
        for try await _ in EventStream(request, options: Self.options).events {}
    }

    package func tools() async throws -> [Tool] {
        struct Result: Decodable { let tools: [Tool] }
        let result: Result = try await call("tools/list", [String: String]())
        return result.tools
    }

    package func callTool(
        _ name: String,
        _ arguments: [String: Int],
        progress: (Progress) -> Void = { _ in }
    ) async throws -> ToolResult {
        struct Parameters: Encodable { let name: String, arguments: [String: Int], _meta: [String: Int] }
        let parameters = Parameters(name: name, arguments: arguments, _meta: ["progressToken": lastID + 1])
        return try await call("tools/call", parameters, progress: progress)
    }

    /// Ends the session. A server without sessions answers with an error, which does not matter.
    package func close() async {
        let stream = EventStream(EventStreamRequest(url, method: "DELETE", headers: headers))
        do { for try await _ in stream.events {} } catch {}
        headers = [:]
    }

    private func call<Result: Decodable>(
        _ method: String,
        _ parameters: some Encodable & Sendable,
        progress: (Progress) -> Void = { _ in }
    ) async throws -> Result {
        lastID += 1
        let message = Message(id: lastID, method: method, params: parameters)
        let stream = EventStream(options: Self.options) { [url, headers] attempt in
            attempt.lastEventID.isEmpty
                ? try EventStreamRequest(url, headers: headers, json: message)
                : EventStreamRequest(url, headers: headers)
        }
        for try await item in stream.items {
            if case .opened(let response) = item, method == "initialize", let id = response.header("Mcp-Session-Id") {
                headers = ["Mcp-Session-Id": id]
            }
            guard case .event(let event) = item else { continue }
            let answer = try event.decode(Answer<Result>.self)
            if answer.method == "notifications/progress", let params = answer.params { progress(params) }
            guard answer.id == message.id else { continue }
            if let result = answer.result { return result }
            throw answer.error ?? Failure(code: -32603, message: "The answer has no result.")
        }
        throw Failure(code: -32603, message: "The server ended the response without an answer.")
    }
}

private struct Message<Parameters: Encodable & Sendable>: Encodable, Sendable {
    var jsonrpc = "2.0", id: Int?, method: String, params: Parameters?
}

private struct Answer<Result: Decodable>: Decodable {
    let id: Int?, method: String?, params: MCPClient.Progress?, result: Result?, error: MCPClient.Failure?
}
