package import PusherProtocol

/// The way in which a socket was closed.
package struct TransportClosure: Hashable, Sendable {
    /// The code of the peer's close frame, or 1005 if the frame had no code. Nil if no close frame arrived.
    package var code: CloseCode?
    package var reason: String
    /// The transport's error; nil if the transport had no error.
    package var error: PusherClientError?
    /// Whether the HTTP response that brings messages broke off, although neither the server nor the client had closed
    /// the session.
    package var isInterruption: Bool

    package init(
        code: CloseCode?,
        reason: String = "",
        error: PusherClientError? = nil,
        isInterruption: Bool = false
    ) {
        self.code = code
        self.reason = reason
        self.error = error
        self.isInterruption = isInterruption
    }
}

extension TransportClosure {
    /// Whether the network may have cut an idle connection. In this case, there is no close frame, or its code gives no
    /// reason. Code 1001 gives one: the server goes away.
    var isUnexplained: Bool {
        switch (code?.rawValue, error?.code) {
        case (nil, nil), (nil, .connectionClosed?), (nil, .connectionFailed?): true
        case (1000?, _), (1005?, _), (1006?, _): true
        default: false
        }
    }
}
