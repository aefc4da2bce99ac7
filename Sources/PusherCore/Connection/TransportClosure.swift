package import PusherProtocol

/// How a socket ended.
package struct TransportClosure: Hashable, Sendable {
    /// The code of the peer's close frame (1005 if that frame had none); nil if no close frame came.
    package var code: CloseCode?
    package var reason: String
    /// The error; nil if the peer closed the connection properly.
    package var error: PusherClientError?

    package init(code: CloseCode?, reason: String = "", error: PusherClientError? = nil) {
        self.code = code
        self.reason = reason
        self.error = error
    }
}

extension TransportClosure {
    /// Whether the connection ended as if it had been cut for being idle: without a close frame, or with a code that
    /// gives no reason.
    var isUnexplained: Bool {
        switch (code?.rawValue, error?.code) {
        case (nil, nil), (nil, .connectionClosed?), (nil, .connectionFailed?): true
        case (1000?, _), (1001?, _), (1005?, _), (1006?, _): true
        default: false
        }
    }
}
