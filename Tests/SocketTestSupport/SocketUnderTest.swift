package import NIOCore
import NIOPosix
package import RealtimeNetworking
import RealtimePrimitives
import TestSupport
package import WebSocketClient

/// A connection of the transport that records its reports as values that tests can compare.
package final class SocketUnderTest {
    package enum Event: Equatable, Sendable {
        case opened
        case text(String)
        case binary([UInt8])
        case activity
        case readComplete
        case closed(WebSocketClosure)

        /// The code of the error that closed the connection, or nil if no error did.
        package var error: WebSocketError.Code? {
            if case .closed(let closure) = self { closure.error?.code } else { nil }
        }

        package var message: String {
            if case .closed(let closure) = self { closure.error?.message ?? "" } else { "" }
        }
    }

    package let eventLoop: any EventLoop
    package let connection: WebSocketConnection
    private var events: AsyncStream<Event>.Iterator
    private let continuation: AsyncStream<Event>.Continuation

    /// Options with an hour for the closing handshake.
    package static var unlimitedClosing: WebSocketOptions {
        with(WebSocketOptions()) { $0.closeTimeout = .seconds(3_600) }
    }

    package init(
        _ request: WebSocketRequest,
        options: WebSocketOptions = unlimitedClosing,
        proxies: ProxyRules = .direct,
        connector: WebSocketConnector? = nil
    ) throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        self.events = stream.makeAsyncIterator()
        self.continuation = continuation
        self.eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        self.connection = (connector ?? WebSocketConnector(options, proxies: proxies)).connect(
            to: request,
            on: eventLoop
        ) { event in
            switch event {
            case .opened: continuation.yield(.opened)
            case .text(let bytes): continuation.yield(.text(String(utf8: bytes)))
            case .binary(let bytes): continuation.yield(.binary(Array(bytes.readableBytesView)))
            // The error of the closure contains the whole refusal.
            case .refused: break
            case .activity, .pong: continuation.yield(.activity)
            case .readComplete: continuation.yield(.readComplete)
            case .closed(let closure): continuation.yield(.closed(closure))
            }
        }
    }

    /// Connects to a port of loopback without TLS.
    package convenience init(port: Int, options: WebSocketOptions = unlimitedClosing) throws {
        try self.init(
            WebSocketRequest(host: "127.0.0.1", port: port, useTLS: false, path: "/app/key?protocol=7"),
            options: options
        )
    }

    package func next() async -> Event? {
        await events.next(isolation: #isolation)
    }

    /// Returns the next event, except activity and the end of a read.
    package func nextOutcome() async -> Event? {
        while let event = await next() {
            if event != .activity, event != .readComplete { return event }
        }
        return nil
    }

    /// Sends a text message, and returns after the system has accepted the message.
    package func send(_ text: String) async throws {
        let isWritten = eventLoop.makePromise(of: Void.self)
        try await perform {
            $0.send(text, promise: isWritten)
            $0.flush()
        }
        try await isWritten.futureResult.get()
    }

    package func perform<Result: Sendable>(_ call: @escaping @Sendable (WebSocketConnection) -> Result) async throws
        -> Result
    {
        try await eventLoop.submit { [connection] in call(connection) }.get()
    }

    /// Aborts the connection, and returns the remaining reports.
    package func abort() async throws -> [Event] {
        try await perform { $0.abort() }
        continuation.finish()
        var rest: [Event] = []
        while let event = await next() { rest.append(event) }
        return rest
    }
}
