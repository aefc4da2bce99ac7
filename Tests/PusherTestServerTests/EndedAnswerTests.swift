import NIOCore
import NIOEmbedded
import RealtimeTestHTTP
import TestSupport
import TestTraits
import Testing

@Suite("Answers that begin late", .limited)
struct EndedAnswerTests {
    /// A service that keeps its requests, and answers none.
    private struct Keeper: HTTPTestService {
        let exchanges = Log<HTTPTestExchange>()
        let limits = HTTPTestLimits()
        let crossOriginPolicy: CrossOriginPolicy? = nil

        func respond(to request: HTTPTestRequest, _ exchange: HTTPTestExchange) { exchanges.append(exchange) }
    }

    @Test("the end of a connection is reported, also to one who asks after it", arguments: [true, false])
    func ends(asksBefore: Bool) throws {
        let keeper = Keeper()
        let channel = EmbeddedChannel()
        try HTTPRequestHandler.addHandlers(to: channel.pipeline.syncOperations, service: keeper)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        let exchange = try #require(keeper.exchanges.elements.first)
        let ends = Log<Void>()
        if asksBefore { exchange.whenEnded { ends.append(()) } }
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        if !asksBefore { exchange.whenEnded { ends.append(()) } }
        #expect(ends.count == 1)
    }
}
