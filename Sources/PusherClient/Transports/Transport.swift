package import NIOCore
package import PusherProtocol

/// A type that opens connections for the protocol's text messages.
///
/// All calls and callbacks run on the event loop that the caller passes to ``open(_:on:receive:)``.
package protocol Transport: Sendable {
    /// Starts opening a connection and returns at once.
    ///
    /// The transport calls `receive` on the event loop, never within this call. The function gets `.retryAfter` or `.opened` at
    /// most once, then messages, and `.closed` exactly once, even if the connection could not be opened. No event follows
    /// `.closed` or ``TransportConnection/abort()``.
    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection
}

/// A connection that is open or that the transport is opening. Only its event loop may use the connection.
package protocol TransportConnection: Sendable {
    /// The transport of the connection, after it is open.
    var report: TransportReport { get }

    /// The maximum time for which the client may stop reading.
    var longestPause: Duration { get }

    /// Writes one text message. The next ``flush()`` sends the message. Over a WebSocket, the promise succeeds when the
    /// operating system has taken the bytes. Over HTTP, it succeeds when the server has answered the request with the
    /// message. The promise fails if the connection is not open. If the answer does not arrive, the error is an
    /// ``UnansweredMessage``.
    func send(_ text: String, promise: EventLoopPromise<Void>?)

    /// Sends the messages that were written since the last flush.
    func flush()

    /// Stops or starts reading from the socket. The transport still delivers data that it has already read, but not
    /// within the call.
    func setReading(_ isReading: Bool)

    /// Starts the closing handshake, and starts reading if reading was stopped. The transport reports `.closed` when
    /// the peer has answered or the socket is closed.
    func close(code: CloseCode, reason: String)

    /// Notes that the server has greeted the client. Does nothing by default.
    func noteEstablished()

    /// Notes that the client is going to abort a silent connection, or that the connection was interrupted. The client
    /// does not call this method if the computer was suspended. Does nothing by default.
    func noteLoss()

    /// Closes the connection at once, in any state. No event follows.
    func abort()
}

extension TransportConnection {
    package var report: TransportReport { TransportReport(.webSocket) }
    package var longestPause: Duration { .seconds(5) }
    package func noteEstablished() {}
    package func noteLoss() {}
}

/// The failure of a message that may have arrived: its HTTP request was sent, and there was no answer.
package struct UnansweredMessage: Error, CustomStringConvertible {
    /// The error that closed the connection; nil if the client closed it.
    package let reason: PusherClientError?

    package init(_ reason: PusherClientError?) { self.reason = reason }

    package var description: String { reason?.description ?? "the server did not answer the request" }
}

extension PusherClientError {
    /// The error of the promise for a message that the transport did not send.
    static let messageNotSent = Self(.connectionClosed, "Message not sent: the connection was lost.")
}

package enum TransportEvent: ~Escapable {
    /// The connection is open: the upgrade succeeded, or the server has opened the HTTP session.
    case opened
    /// The server refuses the connection, and the next attempt must wait for at least this time. `.closed` follows,
    /// unless the client first ends the attempt.
    case retryAfter(Duration)
    /// A whole text message in valid UTF-8, unmasked and with joined fragments. The bytes are valid only until the
    /// receiver returns.
    case text(Span<UInt8>)
    /// A whole binary message. The protocol does not have binary messages.
    case binary(ByteBuffer)
    /// A WebSocket ping (already answered) or pong, a fragment of a longer message, or data of an HTTP response without
    /// a message: the peer is alive.
    case activity
    /// The transport has delivered all data of one read of the socket.
    case readComplete
    /// The connection was closed or lost. The transport reports this event as soon as the outcome is known, even before
    /// the closing handshake is finished.
    case closed(TransportClosure)
}
