import PusherProtocol
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("A limit on the messages of a connection", .limited)
struct MessageLimitTests {
    private let exceeded = Dialect.reverb.error(code: 4301, message: "Rate limit exceeded")

    private func connected(_ count: Int = 1, endsConnection: Bool = false) -> BrainTranscript {
        .connected(count) {
            $0.dialect = .reverb
            $0.messageLimit = .init(count: 2, endsConnection: endsConnection)
        }
    }

    @Test("the limit counts the accepted messages of each connection in windows of a second")
    func windows() {
        var server = connected(2)
        server.brain.now = .seconds(5)
        #expect(server.subscribe(1, "a").events == [EventName.subscriptionSucceededInternal])
        #expect(server.text(1, #"{"event":"pusher:ping"}"#).events == [EventName.pong])
        server.brain.now += .milliseconds(999)
        #expect(server.subscribe(1, "b") == [.send(1, exceeded)])
        #expect(server.unsubscribe(1, "a") == [.send(1, exceeded)])
        #expect(server.text(1, "nonsense") == [.send(1, exceeded)])
        #expect(server.brain.openConnections.first?.subscribedChannels == ["a"])
        #expect(server.subscribe(2, "b").events == [EventName.subscriptionSucceededInternal])
        // The server has not counted rejected messages.
        server.brain.now += .milliseconds(1)
        for name in ["b", "c"] {
            #expect(server.subscribe(1, name).events == [EventName.subscriptionSucceededInternal])
        }
        #expect(server.subscribe(1, "d") == [.send(1, exceeded)])
    }

    @Test("endsConnection makes the server drop the connection without an error")
    func ends() {
        var server = connected(endsConnection: true)
        for name in ["a", "b"] { _ = server.subscribe(1, name) }
        #expect(server.subscribe(1, "c") == [.end(1)])
        #expect(server.brain.openConnections.isEmpty)
    }

    @Test("messages have no limit by default")
    func none() {
        var server = BrainTranscript.connected { $0.dialect = .reverb }
        for number in 1...100 {
            #expect(server.subscribe(1, "a\(number)").events == [EventName.subscriptionSucceededInternal])
        }
    }
}
