import Foundation
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

/// The requests that pusher-js 8.4 made in Chromium, with the bytes of the answers that it understood.
private struct Transcript: Decodable {
    struct Exchange: Decodable {
        struct Event: Decodable {
            var event: String
            var channel: String
            var data: String
        }

        /// The event that the app published before the next request.
        var publish: Event?
        /// The number of the TCP connection.
        var connection: Int?
        var method: String?
        var target: String?
        /// The name of the request's header fields.
        var fields: String?
        var body: String?
        /// The name of the head of the answer. Nil if the client closed the connection before the answer.
        var head: String?
        var answer: String?
    }

    var fields: [String: String]
    var heads: [String: String]
    var streaming: [Exchange]
    var polling: [Exchange]

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Transcripts/pusher-js-8.4-chromium.json")
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: file))
    }

    func request(_ exchange: Exchange) throws -> String {
        let (method, target) = (try #require(exchange.method), try #require(exchange.target))
        let fields = try #require(exchange.fields.flatMap { self.fields[$0] })
        let length = exchange.body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
        return "\(method) \(target) HTTP/1.1\r\n\(length)\(fields)\r\n\(exchange.body ?? "")"
    }

    func answer(to exchange: Exchange) -> String? {
        let body = exchange.answer ?? ""
        guard let head = exchange.head.flatMap({ heads[$0] }) else { return nil }
        return head.replacing("Content-Length: #", with: "Content-Length: \(body.utf8.count)") + body
    }
}

/// A browser that repeats the requests of a transcript.
private struct Browser {
    struct Pending {
        var answer: String
        var target: String?
        var received: [UInt8] = []
    }

    let server: PusherTestServer
    let transcript: Transcript
    var connections: [Int: ByteConnection] = [:]
    var pending: [Int: Pending] = [:]

    init(_ server: PusherTestServer, _ transcript: Transcript) {
        self.server = server
        self.transcript = transcript
    }

    mutating func replay(_ exchanges: [Transcript.Exchange]) async throws {
        for exchange in exchanges {
            if let event = exchange.publish {
                let receiving = pending.filter { $0.value.answer.contains(event.event) }.keys
                for number in pending.keys where !receiving.contains(number) { try await readAnswer(on: number) }
                try server.publish(event: event.event, data: event.data, to: event.channel)
                // If the test did not read this event first, the server could join the next event with it.
                for number in receiving { try await readAnswer(on: number, until: event.event) }
                continue
            }
            let number = try #require(exchange.connection)
            try await readAnswer(on: number)
            // pusher-js subscribes after the greeting. The receiving request on the first connection gets the greeting.
            if number != 1 { try await readAnswer(on: 1, until: EventName.connectionEstablished) }
            if connections[number] == nil { connections[number] = try await .connect(port: server.port) }
            connections[number]?.write(try transcript.request(exchange))
            pending[number] = transcript.answer(to: exchange).map { Pending(answer: $0, target: exchange.target) }
        }
        for number in connections.keys { try await readAnswer(on: number) }
    }

    /// Reads the pending answer, or its beginning up to a text. Throws at the first byte that differs.
    private mutating func readAnswer(on number: Int, until text: String? = nil) async throws {
        guard let connection = connections[number], var last = pending[number] else { return }
        let end = text.map { last.answer.firstRange(of: $0)?.upperBound ?? last.answer.startIndex }
        let length = last.answer[..<(end ?? last.answer.endIndex)].utf8.count
        while last.received.count < length {
            let bytes = await connection.readSome()
            last.received += bytes
            let text = String(decoding: last.received, as: UTF8.self)
            try #require(
                !bytes.isEmpty && last.answer.utf8.starts(with: last.received),
                "\(last.target ?? "-"): \(text)"
            )
        }
        pending[number] = end == nil ? nil : last
    }
}

@Suite("Transcripts of pusher-js", .limited)
struct TranscriptTests {
    @Test("the server answers the requests of pusher-js with the bytes that pusher-js understood")
    func replay() async throws {
        let transcript = try Transcript()
        var options = PusherTestServer.Options()
        options.socketIDPrefix = 821_035
        // A busy machine can take longer than the defaults between two requests of a session.
        options.httpTransports.disconnectDelay = .patience
        options.httpTransports.heartbeatInterval = .patience
        try await PusherTestServer.withServer(options: options) { server in
            var browser = Browser(server, transcript)
            try await browser.replay(transcript.streaming)
            // The second connection of the browser is not part of the transcript.
            let second = try await ByteConnection.connect(port: server.port)
            second.write("POST /app/app-key/1/second/xhr_streaming?protocol=7 HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
            _ = await second.readHead()
            browser = Browser(server, transcript)
            try await browser.replay(transcript.polling)
            let typing = server.receivedMessages().filter { $0.contains("client-typing") }
            #expect(typing.count == 2)
            #expect(
                server.connections.map(\.subscribedChannels).filter { !$0.isEmpty } == [
                    ["private-xhr_streaming", "presence-xhr_streaming"],
                    ["private-xhr_polling", "presence-xhr_polling"],
                ]
            )
        }
    }
}
