import EventSourceTestServer
import Foundation

/// Makes the event stream client available over HTTP to the contract suite for event source clients. The suite requests
/// streams, and gets their events. The service listens on 127.0.0.1, on the port in `PORT` (8000 by default).
@main
enum SSEContractService {
    static func main() async {
        let text = ProcessInfo.processInfo.environment["PORT"] ?? "8000"
        guard let port = Int(text), (1...65_535).contains(port) else {
            fail("Invalid PORT \"\(text)\": it must be a number from 1 to 65535.")
        }
        let server: EventSourceTestServer
        do {
            server = try await EventSourceTestServer.start(port: port)
        } catch {
            fail("Cannot listen on port \(port): \(error)")
        }
        let (quits, quit) = AsyncStream.makeStream(of: Void.self)
        let clients = ContractClients(server)
        server.respond { exchange in
            switch exchange.request.method {
            case "GET":
                let capabilities = [
                    "bom", "comments", "headers", "last-event-id", "post", "read-timeout", "report", "restart",
                    "server-directed-shutdown-request",
                ]
                try await exchange.answer(200, json: ["capabilities": capabilities])
            case "POST": try await clients.create(exchange)
            case "DELETE":
                try await exchange.answer(204)
                quit.yield()
            default: try await exchange.answer(405)
            }
        }
        print("ready")
        fflush(nil)
        for await _ in quits { break }
        await server.shutdown()
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(1)
    }
}

extension TestExchange {
    func answer(_ status: Int, headers: [String: String?] = [:], json: [String: [String]]? = nil) async throws {
        let body = try json.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        let fields = headers.merging(["Content-Type": json == nil ? nil : "application/json"]) { $1 }
        try await play(TestResponse(status: status, headers: fields, steps: body.map { [.send($0)] } ?? []))
    }
}
