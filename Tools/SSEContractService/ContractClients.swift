import AsyncHTTPClient
import EventSourceTestServer
import Foundation
import NIOCore
import ServerSentEvents

/// The streams that the suite has requested.
actor ContractClients {
    private struct Parameters: Decodable {
        var streamUrl: String
        var callbackUrl: String
        var initialDelayMs: Int?
        var readTimeoutMs: Int?
        var lastEventId: String?
        var headers: [String: String]?
        var method: String?
        var body: String?
    }

    private struct Command: Decodable {
        var command: String
    }

    private let server: EventSourceTestServer
    private let connector = EventStreamConnector(proxy: .direct)
    private var count = 0

    init(_ server: EventSourceTestServer) { self.server = server }

    func create(_ exchange: TestExchange) async throws {
        guard let parameters = try? JSONDecoder().decode(Parameters.self, from: Data(exchange.request.body)) else {
            return try await exchange.answer(400)
        }
        count += 1
        let path = "/clients/\(count)"
        let stream = stream(parameters)
        let callback = parameters.callbackUrl
        Task { await ContractReporter(callback).report(stream) }
        server.respond(at: path) { exchange in
            switch exchange.request.method {
            case "DELETE": stream.close()
            case "POST":
                let command = try? JSONDecoder().decode(Command.self, from: Data(exchange.request.body))
                if command?.command == "restart" { stream.restart() }
            default: return try await exchange.answer(405)
            }
            try await exchange.answer(202)
        }
        try await exchange.answer(201, headers: ["Location": server.url + path])
    }

    private func stream(_ parameters: Parameters) -> EventStream {
        let headers = HTTPHeaderFields((parameters.headers ?? [:]).map { HTTPHeader(name: $0.key, value: $0.value) })
        let request = EventStreamRequest(
            parameters.streamUrl,
            method: parameters.method ?? "GET",
            headers: headers,
            body: parameters.body.map { Array($0.utf8) }
        )
        var options = EventStreamOptions()
        options.reconnection = .always
        options.retryPolicy = .delays([.zero])
        if let delay = parameters.initialDelayMs { options.reconnectionTime = .milliseconds(delay) }
        if let timeout = parameters.readTimeoutMs { options.idleTimeout = .milliseconds(timeout) }
        return EventStream(
            request,
            lastEventID: parameters.lastEventId ?? "",
            options: options,
            connector: connector
        )
    }
}

/// Reports the events, comments and errors of a stream to the suite, in order.
private actor ContractReporter {
    private struct Report: Encodable {
        struct Event: Encodable {
            var type: String
            var data: String
            var id: String
        }

        var kind: String
        var event: Event?
        var comment: String?
    }

    private let url: String
    private var count = 0

    init(_ url: String) { self.url = url }

    func report(_ stream: EventStream) async {
        do throws(EventStreamError) {
            for try await item in stream.items {
                switch item {
                case .opened: break
                case .event(let event):
                    await send(Report(kind: "event", event: .init(type: event.event, data: event.data, id: event.id)))
                case .comment(let text): await send(Report(kind: "comment", comment: text))
                case .lost(let error): await send(Report(kind: "error", comment: "\(error)"))
                }
            }
        } catch {
            await send(Report(kind: "error", comment: "\(error)"))
        }
    }

    private func send(_ report: Report) async {
        count += 1
        var request = HTTPClientRequest(url: "\(url)/\(count)")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        guard let body = try? JSONEncoder().encode(report) else { return }
        request.body = .bytes(ByteBuffer(bytes: body))
        // The suite no longer listens after its test has ended, so this request may fail.
        _ = try? await HTTPClient.shared.execute(request, timeout: .seconds(30))
    }
}
