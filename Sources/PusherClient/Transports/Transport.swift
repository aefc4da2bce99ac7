package import NIOCore
package import PusherProtocol

/// Opens connections that carry the protocol's text messages.
///
/// Everything here happens on the event loop that was given to ``open(_:on:receive:)``.
package protocol Transport: Sendable {
    /// Starts opening a connection and returns at once.
    ///
    /// `receive` is called on the event loop, never within this call. It gets `.opened` at most once, then messages,
    /// and `.closed` exactly once at the end, also if it could not be opened. Nothing follows after that, or
    /// after ``TransportConnection/abort()``.
    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection
}

/// An open connection, or one that is being opened. All calls are made on its event loop.
package protocol TransportConnection: Sendable {
    /// The transport of the connection, after it is open.
    var report: TransportReport { get }

    /// How long the client may stop reading at most.
    var longestPause: Duration { get }

    /// Writes one text message, to go out with the next ``flush()``. The promise succeeds once the bytes are handed to
    /// the operating system, or the server has answered the HTTP request that they are in. It fails if the connection is
    /// not open, and with an ``UnansweredMessage`` if the answer does not come.
    func send(_ text: String, promise: EventLoopPromise<Void>?)

    /// Sends the messages that were written since the last flush.
    func flush()

    /// Stops or starts reading from the socket. Data that was read already is still delivered.
    func setReading(_ isReading: Bool)

    /// Starts the closing handshake, and reading if it was stopped. `.closed` follows when the peer has answered or the
    /// socket has ended.
    func close(code: CloseCode, reason: String)

    /// Called when the server has greeted the client. Does nothing by default.
    func noteEstablished()

    /// Called before the client aborts a silent connection. Does nothing by default.
    func noteLoss()

    /// Ends the connection at once, in any state. No event follows.
    func abort()
}

extension TransportConnection {
    package var report: TransportReport { TransportReport(.webSocket) }
    package var longestPause: Duration { .seconds(5) }
    package func noteEstablished() {}
    package func noteLoss() {}
}

/// Why the promise of a message fails that may have arrived: its HTTP request went out, and the answer did not come.
package struct UnansweredMessage: Error, CustomStringConvertible {
    package let reason: PusherClientError

    package init(_ reason: PusherClientError) { self.reason = reason }

    package var description: String { reason.description }
}

package enum TransportEvent: ~Escapable {
    /// The upgrade succeeded.
    case opened
    /// A whole text message, unmasked, its fragments joined, valid UTF-8. The bytes are valid only until the receiver
    /// returns.
    case text(Span<UInt8>)
    /// A whole binary message. The protocol does not have binary messages.
    case binary(ByteBuffer)
    /// A WebSocket ping (already answered) or pong, or a fragment of a longer message: the peer is alive.
    case activity
    /// All data of one read of the socket has been delivered.
    case readComplete
    /// The end of the connection. It is reported as soon as the outcome is known, while the transport finishes the
    /// closing handshake.
    case closed(TransportClosure)
}
