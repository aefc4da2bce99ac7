/// An error of the core: one of the two public error types, or a cancellation by the app.
package enum HubFailure: Error, Hashable, Sendable {
    case signalR(SignalRError)
    case client(SignalRClientError)
    case cancelled

    /// The error that the app gets.
    package var error: any Error {
        switch self {
        case .signalR(let error): error
        case .client(let error): error
        case .cancelled: CancellationError()
        }
    }
}

extension HubFailure {
    static func client(_ code: SignalRClientError.Code, _ message: String) -> Self {
        .client(SignalRClientError(code, message))
    }

    /// The error that waiting calls get if the connection closes without an error.
    static let callEnded = client(
        .callEnded,
        "Invocation canceled due to the underlying connection being closed."
    )

    /// The error of a call without a connection.
    package static func notConnected(_ operation: String, in state: HubStateMachine.State) -> Self {
        let reason =
            switch state {
            case .stopped, .connected: "needs a connection in the state 'Connected'. Call start() first."
            case .connecting: "needs a connection, and the client is still connecting. Call connected() first."
            case .reconnecting: "needs a connection, and the client is reconnecting. Call connected() first."
            }
        return .signalR(.invalidOperation("\(operation) \(reason)"))
    }

    static let notStopped = signalR(
        .invalidOperation("start() needs a connection in the state 'Stopped'.")
    )
}
