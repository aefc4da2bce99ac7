import NIOCore
import NIOEmbedded
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("A connection that chooses its transport", .limited)
struct TransportChooserTests {
    /// Opens, and then reports some events.
    private struct ScriptedTransport: Transport {
        enum Script {
            case binaryMessages, nothing, messageBeforeLoss, refusal
        }

        let script: Script

        private struct Connection: TransportConnection {
            func send(_ text: String, promise: EventLoopPromise<Void>?) {}
            func flush() {}
            func setReading(_ isReading: Bool) {}
            func close(code: CloseCode, reason: String) {}
            func abort() {}
        }

        func open(
            _ request: TransportRequest,
            on eventLoop: any EventLoop,
            receive: @escaping @Sendable (TransportEvent) -> Void
        ) -> any TransportConnection {
            eventLoop.execute {
                if case .refusal = script {
                    receive(.retryAfter(.seconds(7)))
                    return receive(.closed(TransportClosure(code: nil)))
                }
                receive(.opened)
                switch script {
                case .binaryMessages:
                    for size in 1...3 { receive(.binary(ByteBuffer(repeating: 0, count: size))) }
                    receive(.readComplete)
                case .nothing, .refusal: break
                case .messageBeforeLoss:
                    receive(.binary(ByteBuffer(repeating: 0, count: 1)))
                    receive(.closed(TransportClosure(code: nil)))
                }
            }
            return Connection()
        }
    }

    private let loop = EmbeddedEventLoop()
    private let log = Log<String>()

    private func open(_ preferred: ScriptedTransport.Script, _ other: ScriptedTransport.Script)
        -> any TransportConnection
    {
        let options: [TransportChooser.Option] = [
            .init(.webSocket, ScriptedTransport(script: preferred)),
            .init(.httpPolling, ScriptedTransport(script: other)),
        ]
        let chooser = TransportChooser(options, attemptTimeout: .seconds(15))
        let request = TransportRequest(
            host: "server.test",
            port: 80,
            useTLS: false,
            path: "/app/key",
            headers: [],
            http: HTTPTransportAddress(host: "server.test", port: 80, path: "/pusher/app/key", query: "")
        )
        return chooser.open(request, on: loop) { [log] event in
            switch event {
            case .opened: log.append("opened")
            case .binary(let bytes): log.append("binary \(bytes.readableBytes)")
            case .text, .activity: log.append("something else")
            case .readComplete: log.append("read")
            case .retryAfter(let delay): log.append("retry after \(delay)")
            case .closed: log.append("closed")
            }
        }
    }

    @Test("a binary message decides the choice as a text does, so that a hostile server cannot fill the memory")
    func binary() {
        let connection = open(.binaryMessages, .binaryMessages)
        loop.run()
        #expect(log.take() == ["opened", "binary 1", "binary 2", "binary 3", "read"])
        connection.abort()
        loop.run()
    }

    @Test("the client gets the Retry-After of one transport while another is still connecting")
    func retryAfter() {
        let connection = open(.refusal, .nothing)
        loop.run()
        #expect(log.take() == ["retry after 7.0 seconds"])
        connection.abort()
        loop.run()
    }

    @Test("the client gets a message that waits for a better transport when the connection of the message is lost")
    func lostWithMessage() {
        let connection = open(.nothing, .messageBeforeLoss)
        loop.advanceTime(by: .seconds(2))
        #expect(log.take() == ["opened", "binary 1", "closed"])
        connection.abort()
        loop.run()
    }
}
