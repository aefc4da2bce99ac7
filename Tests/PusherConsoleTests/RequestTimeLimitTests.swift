import NIOCore
import NIOEmbedded
import NIOHTTP1
import TestTraits
import Testing

@testable import pusher

@Suite("The time limit for requests to the console", .limited)
struct RequestTimeLimitTests {
    /// The console's handlers without a socket, in virtual time.
    private final class Connection {
        let channel = EmbeddedChannel()

        init() throws {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
            try RequestTimeLimit.add(to: pipeline)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }
        func advance(by seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }
        var isOpen: Bool { channel.isActive }

        /// Returns the number of complete requests since the last call.
        func requestCount() throws -> Int {
            var count = 0
            while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
                if case .end = part { count += 1 }
            }
            return count
        }
    }

    @Test(
        "the console closes a request that is not complete after 30 s, even if a byte arrives each second",
        arguments: ["GET /updates", "POST /actions HTTP/1.1\r\nContent-Length: 1000\r\n\r\n"]
    )
    func slowRequest(beginning: String) throws {
        let connection = try Connection()
        try connection.send(beginning)
        for _ in 1...29 {
            connection.advance(by: 1)
            try connection.send("x")
        }
        #expect(connection.isOpen)
        connection.advance(by: 1)
        #expect(!connection.isOpen)
    }

    @Test("there is no limit before a request, after a request, or for its answer")
    func idle() throws {
        let connection = try Connection()
        connection.advance(by: 3_600)
        for _ in 1...3 {
            try connection.send("GET /updates HTTP/1.1\r\n")
            connection.advance(by: 29)
            try connection.send("Host: localhost\r\n\r\n")
            #expect(try connection.requestCount() == 1)
            connection.advance(by: 3_600)
            #expect(connection.isOpen)
        }
        try connection.send("G")
        connection.advance(by: 30)
        #expect(!connection.isOpen)
    }
}
