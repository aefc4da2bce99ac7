import NIOCore
import NIOEmbedded
import SocketTestSupport
import TestSupport
import TestTraits
import Testing
import WebSocketClient

@Suite("The buffer for a server that does not read", .limited)
struct SendBufferTests {
    @Test("the client allows writes of any size if the server reads between them")
    func burst() throws {
        let connection = try EmbeddedConnection(with(WebSocketOptions()) { $0.sendBufferSize = 10_000 })
        connection.stopReading()
        for _ in 1...3 {
            connection.send(20_000, 20_000, 20_000)
            connection.send(1_000)
            connection.send(1_000)
            #expect(connection.ends.count == 0)
            try connection.read()
        }
        try connection.finish()
    }

    @Test("the client answers the latest of several pings when the server reads")
    func postponedPong() throws {
        let connection = try EmbeddedConnection(.init())
        connection.stopReading()
        for text in ["one", "two"] { try connection.receive(serverFrame(9, text)) }
        #expect(try connection.takeFrames() == [])
        #expect(try connection.startReading() == [.init(opcode: 10, payload: Array("two".utf8))])
        #expect(try connection.startReading() == [])
        try connection.finish()
    }

    @Test("the client buffers at most twice the limit after the first write if the server does not read")
    func bound() throws {
        for burst in [60_000, 1] {
            let connection = try EmbeddedConnection(with(WebSocketOptions()) { $0.sendBufferSize = 10_000 })
            connection.stopReading()
            connection.send(burst)
            var sent = 0
            while connection.ends.count == 0, sent < 100_000 {
                connection.send(1_000)
                sent += 1_000
            }
            #expect(connection.ends.elements.map(\.error?.code) == [.sendBufferFull])
            #expect(sent <= 22_000)
            connection.loop.run()
        }
    }

    // MARK: Messages that wait for their turn

    /// Sends messages of these sizes in turn, and returns their results as they come.
    private func sendInTurn(_ connection: EmbeddedConnection, _ sizes: [Int]) -> Log<String> {
        let results = Log<String>()
        for (number, size) in sizes.enumerated() {
            let promise = connection.loop.makePromise(of: Void.self)
            promise.futureResult.whenComplete { result in
                switch result {
                case .success: results.append("\(number)")
                case .failure(let error):
                    results.append("\(number) \((error as? WebSocketError)?.code.rawValue ?? "?")")
                }
            }
            connection.connection.sendInTurn(.binary(Array(repeating: 7, count: size)), promise: promise)
        }
        return results
    }

    @Test("concurrent sends beyond the limit wait for their turn, and arrive in order")
    func turns() throws {
        let connection = try EmbeddedConnection(with(WebSocketOptions()) { $0.sendBufferSize = 10_000 })
        connection.stopReading()
        let sizes = (1...60).map { 1_000 + $0 }
        let results = sendInTurn(connection, sizes)
        #expect(results.count == 0)
        // The first messages fill the buffer, and the others wait for them.
        #expect(try connection.bufferedBytes() <= 11_100)
        var arrived: [Int] = []
        for _ in 1...60 where arrived.count < 60 {
            connection.loop.advanceTime(by: .seconds(29))
            arrived += try connection.readOnce().map(\.payload.count)
            // Messages that get their turn fill the buffer again.
            #expect(try connection.bufferedBytes() <= 11_100)
        }
        #expect(arrived == sizes)
        #expect(results.elements == (0..<60).map { "\($0)" })
        // No timer remains that could end the connection.
        connection.loop.advanceTime(by: .hours(1))
        #expect(connection.ends.count == 0)
        try connection.finish()
    }

    @Test("sends that wait behind bytes that nobody awaits get their turn when the server reads")
    func unawaited() throws {
        let connection = try EmbeddedConnection(with(WebSocketOptions()) { $0.sendBufferSize = 10_000 })
        connection.stopReading()
        connection.send(20_000)
        let results = sendInTurn(connection, [1, 2])
        #expect(results.count == 0)
        #expect(try connection.startReading().map(\.payload.count) == [20_000, 1, 2])
        #expect(results.elements == ["0", "1"])
        try connection.finish()
    }

    @Test("if the server takes nothing for the timeout, the sends that wait fail with the code sendBufferFull")
    func stuck() throws {
        let connection = try EmbeddedConnection(
            with(WebSocketOptions()) {
                $0.sendBufferSize = 10_000; $0.sendTimeout = .seconds(7)
            }
        )
        connection.stopReading()
        let results = sendInTurn(connection, Array(repeating: 1_000, count: 20))
        connection.loop.advanceTime(by: .milliseconds(6_999))
        #expect(results.count == 0)
        connection.loop.advanceTime(by: .milliseconds(1))
        // A channel without a socket keeps the messages that it has got.
        #expect(results.elements == (10..<20).map { "\($0) sendBufferFull" })
        #expect(connection.ends.elements.map(\.error?.code) == [.sendBufferFull])
        connection.loop.run()
    }

    @Test("sends that wait fail when the connection closes", arguments: ["close", "abort", "lost", "peer"])
    func closedWhileWaiting(_ end: String) throws {
        let connection = try EmbeddedConnection(with(WebSocketOptions()) { $0.sendBufferSize = 10_000 })
        connection.stopReading()
        let results = sendInTurn(connection, [20_000, 1, 1])
        switch end {
        case "close": connection.connection.close(code: .normalClosure, reason: "")
        case "abort": connection.connection.abort()
        case "lost": connection.channel.close(promise: nil)
        default: try connection.receive(serverFrame(8, [3, 232]))
        }
        connection.loop.run()
        #expect(Set(results.elements).isSuperset(of: ["1 connectionClosed", "2 connectionClosed"]))
        connection.loop.advanceTime(by: .hours(1))
        try connection.finish()
    }
}
