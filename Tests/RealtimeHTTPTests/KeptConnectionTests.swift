import NIOCore
import NIOEmbedded
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@testable import RealtimeHTTP
@testable import RealtimeNetworking

/// An unused connection that both sides close at about the same time, in virtual time.
@Suite("Kept HTTP connections in virtual time", .limited)
struct KeptConnectionTests {
    /// A client with the usual time for unused connections, and the server's side of its connections.
    private final class World {
        let loop = EmbeddedEventLoop()
        private(set) var channels: [EmbeddedChannel] = []
        private var connections: HTTPConnections?

        init() {
            let limits = HTTPConnections.Limits(connections: 1, connectTime: .seconds(10), idleTime: .seconds(4))
            connections = HTTPConnections(on: loop, limits) { [unowned self] _, _, completion in
                let channel = EmbeddedChannel(loop: self.loop)
                _ = try? channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
                channels.append(channel)
                let task = loop.scheduleTask(in: .zero) { completion(.success(channel)) }
                return HTTPConnections.Attempt(proxy: nil, cancel: { task.cancel() })
            }
        }

        /// Sends a request. The log gets `end`, or the error.
        func send(_ method: String, advances: Bool = true) -> Log<String> {
            let log = Log<String>()
            guard let connections else { return log }
            let rules = HTTPCall.Rules(redirects: nil, maximumRedirects: 0, isPooled: true)
            HTTPCall(over: connections, rules) { event in
                switch event {
                case .head, .body: break
                case .end: log.append("end")
                case .failed(let error): log.append(error.message)
                }
            }.send(.to("http://a.test/", method: method, body: nil))
            if advances { loop.advanceTime(by: .nanoseconds(1)) }
            return log
        }

        func answer(_ index: Int) {
            let text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            _ = try? channels[index].writeInbound(ByteBuffer(string: text))
        }

        /// The number of requests that the server got on each connection.
        var requestCounts: [Int] {
            channels.map { channel in
                var count = 0
                while let bytes = try? channel.readOutbound(as: ByteBuffer.self) {
                    if String(buffer: bytes).contains("HTTP/1.1\r\n") { count += 1 }
                }
                return count
            }
        }
    }

    private static let untilClose = TimeAmount.seconds(4) - .nanoseconds(1)

    /// Makes a client whose connection has served a request, just before the client closes it.
    private func idleWorld() throws -> World {
        let world = World()
        let first = world.send("POST")
        world.answer(0)
        try #require(first.elements == ["end"])
        world.loop.advanceTime(by: Self.untilClose)
        try #require(world.channels[0].isActive)
        try #require(world.requestCounts == [1])
        return world
    }

    @Test("the server closes first: the next request uses a new connection", arguments: ["GET", "POST"])
    func serverFirst(method: String) throws {
        let world = try idleWorld()
        world.channels[0].close(promise: nil)
        world.loop.advanceTime(by: .nanoseconds(1))
        let next = world.send(method)
        world.answer(1)
        #expect(next.elements == ["end"])
        #expect(world.requestCounts == [0, 1])
    }

    @Test("a request in the turn of the loop in which the client would close its connection gets its response")
    func sameTurn() throws {
        let world = World()
        let first = world.send("POST")
        // A task of the same time that was scheduled before the client's timer, so it runs before it.
        var next: Log<String>?
        world.loop.scheduleTask(in: .seconds(4)) { next = world.send("POST", advances: false) }
        world.answer(0)
        try #require(first.elements == ["end"])
        world.loop.advanceTime(by: .seconds(4))
        try #require(next != nil)
        world.answer(0)
        #expect(next?.elements == ["end"])
        #expect(world.requestCounts == [2])
    }

    @Test("the client closes first: the next request uses a new connection", arguments: ["GET", "POST"])
    func clientFirst(method: String) throws {
        let world = try idleWorld()
        world.loop.advanceTime(by: .nanoseconds(1))
        #expect(!world.channels[0].isActive)
        let next = world.send(method)
        world.answer(1)
        #expect(next.elements == ["end"])
        #expect(world.requestCounts == [0, 1])
    }

    @Test(
        "the server closes while a request is on its way: only a request that may be repeated is repeated",
        arguments: ["GET", "POST"]
    )
    func requestFirst(method: String) throws {
        let world = try idleWorld()
        let next = world.send(method)
        #expect(world.requestCounts == [1])
        world.channels[0].close(promise: nil)
        world.loop.advanceTime(by: .nanoseconds(1))
        if method == "GET" {
            world.answer(1)
            #expect(next.elements == ["end"])
            #expect(world.requestCounts == [0, 1])
        } else {
            #expect(next.elements == ["the kept connection was lost before the answer arrived"])
            #expect(world.channels.count == 1)
        }
    }
}
