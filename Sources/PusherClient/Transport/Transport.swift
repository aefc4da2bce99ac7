package import NIOCore
package import PusherProtocol

/// Opens sockets that carry the protocol's text messages.
///
/// Everything here happens on the event loop that was given to ``open(_:on:receive:)``.
package protocol Transport: Sendable {
    /// Starts opening a socket and returns at once.
    ///
    /// `receive` is called on the event loop, never from within this call: `.opened` at most once, then messages, and
    /// `.closed` exactly once at the end, also where the socket could not be opened; nothing after it, and nothing
    /// after ``TransportConnection/abort()``.
    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection
}

/// An open socket, or one that is being opened. All calls are made on its event loop.
package protocol TransportConnection: Sendable {
    /// Writes one text message, to go out with the next ``flush()``. The promise succeeds once the bytes are handed to
    /// the operating system, and fails where the socket is not open.
    func send(_ text: String, promise: EventLoopPromise<Void>?)

    /// Sends what was written since the last flush.
    func flush()

    /// Starts the closing handshake; `.closed` follows when the peer has answered or the socket has ended.
    func close(code: CloseCode, reason: String)

    /// Ends the socket at once, in whatever state it is. No event follows.
    func abort()
}

/// Where to connect, and what to ask for in the upgrade.
package struct TransportRequest: Hashable, Sendable {
    package var host: String
    package var port: Int
    package var useTLS: Bool
    /// With the query; starts with a slash.
    package var path: String
    /// Offered, never required of the answer.
    package var subprotocol: String?
    package var headers: [Header]

    package struct Header: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(
        host: String,
        port: Int,
        useTLS: Bool,
        path: String,
        subprotocol: String? = nil,
        headers: [Header] = []
    ) {
        self.host = host
        self.port = port
        self.useTLS = useTLS
        self.path = path
        self.subprotocol = subprotocol
        self.headers = headers
    }
}

package enum TransportEvent: Sendable {
    /// The upgrade succeeded.
    case opened
    /// A whole text message, unmasked, its fragments joined, valid UTF-8.
    case text(ByteBuffer)
    /// A whole binary message. The protocol has none.
    case binary(ByteBuffer)
    /// A WebSocket ping (already answered) or pong, or a fragment of a longer message: the peer is alive.
    case activity
    /// All that one read of the socket brought has been handed over.
    case readComplete
    /// The end: given as soon as the outcome is known, while the transport finishes the closing handshake by itself.
    case closed(TransportClosure)
}

/// How a socket ended.
package struct TransportClosure: Hashable, Sendable {
    /// The code of the peer's close frame (1005 where that frame had none); nil where no close frame came.
    package var code: CloseCode?
    package var reason: String
    /// What went wrong, where it was not the peer that ended the connection in an orderly way.
    package var error: PusherClientError?

    package init(code: CloseCode?, reason: String = "", error: PusherClientError? = nil) {
        self.code = code
        self.reason = reason
        self.error = error
    }
}
