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
        let connection = try EmbeddedConnection(.init(maximumSendBufferSize: 10_000))
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
            let connection = try EmbeddedConnection(.init(maximumSendBufferSize: 10_000))
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
}
