package import NIOCore
import PusherProtocol
package import RealtimeHTTP

/// A transport that carries the protocol's messages over HTTP requests.
package struct HTTPTransport: Transport {
    package struct Limits: Hashable, Sendable {
        package var messageSize: Int
        /// The maximum number of bytes of unsent messages, apart from one burst.
        package var sendBufferSize: Int
        /// The size in bytes at which a new response replaces the current response.
        package var streamLength: Int

        package init(
            messageSize: Int = 16 << 20,
            sendBufferSize: Int = 16 << 20,
            streamLength: Int = HTTPSessionStateMachine.usualStreamLength
        ) {
            self.messageSize = messageSize
            self.sendBufferSize = sendBufferSize
            self.streamLength = streamLength
        }
    }

    private let mode: HTTPSessionStateMachine.Mode
    private let streamer: any HTTPStreamer
    private let limits: Limits
    private let makeName: @Sendable () -> HTTPSessionName

    /// - Parameter makeName: A closure that names a session. Each session must have a different name.
    package init(
        _ mode: HTTPSessionStateMachine.Mode,
        over streamer: any HTTPStreamer,
        limits: Limits = Limits(),
        makeName: @escaping @Sendable () -> HTTPSessionName = Self.randomName
    ) {
        self.mode = mode
        self.streamer = streamer
        self.limits = limits
        self.makeName = makeName
    }

    @Sendable package static func randomName() -> HTTPSessionName {
        var generator = SystemRandomNumberGenerator()
        return HTTPSessionName(using: &generator)
    }

    package func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        let machine = HTTPSessionStateMachine(
            mode,
            at: request.http,
            makeName(),
            sendBufferSize: limits.sendBufferSize,
            streamLength: limits.streamLength
        )
        let connection = HTTPConnection(
            HTTPConnectionSession(machine, request, streamer, limits, on: eventLoop, receive: receive),
            TransportReport(mode == .streaming ? .httpStreaming : .httpPolling),
            on: eventLoop
        )
        eventLoop.execute { connection.start() }
        return connection
    }
}

/// One connection over HTTP. Only its event loop may use the connection.
private final class HTTPConnection: TransportConnection {
    let report: TransportReport
    /// A server closes a polling session after 5 s without a poll.
    var longestPause: Duration { report.transport == .httpPolling ? .seconds(3) : .seconds(5) }
    private let session: NIOLoopBoundBox<HTTPConnectionSession>

    init(_ session: sending HTTPConnectionSession, _ report: TransportReport, on eventLoop: any EventLoop) {
        self.report = report
        self.session = .makeBoxSendingValue(session, eventLoop: eventLoop)
    }

    func start() { session.value.start() }

    /// Sends a message. The promise succeeds when the server has answered the request that contains the message.
    func send(_ text: String, promise: EventLoopPromise<Void>?) { session.value.send(text, promise: promise) }
    func flush() { session.value.flush() }
    func setReading(_ isReading: Bool) { session.value.setReading(isReading) }
    func close(code: CloseCode, reason: String) { session.value.close(code: code) }
    func abort() { session.value.abort() }
}
