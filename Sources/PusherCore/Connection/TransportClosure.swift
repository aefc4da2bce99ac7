package import PusherProtocol

/// How a socket ended.
package struct TransportClosure: Hashable, Sendable {
    /// The code of the peer's close frame (1005 if that frame had none); nil if no close frame came.
    package var code: CloseCode?
    package var reason: String
    /// The error; nil if the peer ended the connection in an orderly way.
    package var error: PusherClientError?

    package init(code: CloseCode?, reason: String = "", error: PusherClientError? = nil) {
        self.code = code
        self.reason = reason
        self.error = error
    }
}
