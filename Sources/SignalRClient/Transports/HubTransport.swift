package import NIOCore
package import SignalRCore

/// A transport that carries the bytes of a connection. The caller makes all calls on the event loop.
package protocol HubTransport: Sendable {
    /// Sends bytes after the bytes of earlier calls. The transport may wait for ``flush()``. The promise succeeds when the
    /// socket has taken the bytes, or when the server has accepted the request that contains them.
    func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?)

    /// Sends the bytes of all earlier calls.
    func flush()

    /// Sends the waiting bytes, and closes the transport as the server expects. The event `.closed` follows.
    func close()

    /// Aborts the transport at once, without an event.
    func abort()
}

extension HubTransport {
    /// Does nothing, because most transports do not wait.
    package func flush() {}
}

/// An event of a transport. The transport reports events on the event loop, in order, and `.closed` is the last event.
package enum HubTransportEvent: Sendable {
    case bytes([UInt8])
    /// The transport has ended. The failure is `nil` if the server closed the transport properly.
    case closed(HubFailure?)
}

package struct OpenedTransport: Sendable {
    package typealias Receiver = @Sendable (HubTransportEvent) -> Void

    package var transport: any HubTransport
    package var info: TransportInfo
    /// Opens another transport for the same connection.
    package var reopen: @Sendable (_ receive: @escaping Receiver) async throws -> any HubTransport
    /// Asks the app for a token, sends it to the server, and returns the time until it expires. `nil` if the connection
    /// cannot be refreshed.
    package var refresh: (@Sendable () async throws -> Duration?)?

    package init(
        _ transport: any HubTransport,
        _ info: TransportInfo,
        reopen: @escaping @Sendable (_ receive: @escaping Receiver) async throws -> any HubTransport,
        refresh: (@Sendable () async throws -> Duration?)? = nil
    ) {
        self.transport = transport
        self.info = info
        self.reopen = reopen
        self.refresh = refresh
    }
}

/// Opens transports.
package protocol HubTransportOpener: Sendable {
    /// Agrees with the server on a transport, and opens it.
    ///
    /// If the caller no longer needs the transport, it cancels the task. If the opener returns a transport after the
    /// cancellation, the caller aborts this transport.
    ///
    /// - Parameter wantsResumption: Whether to request a connection that the client can resume.
    func open(
        wantsResumption: Bool,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> OpenedTransport
}

extension HubFailure {
    /// Converts an error to a failure, for the core.
    init(_ error: any Error) {
        switch error {
        case let error as HubFailure: self = error
        case let error as SignalRError: self = .signalR(error)
        case let error as SignalRClientError: self = .client(error)
        case is CancellationError: self = .cancelled
        // The text of an error of the app's HTTP client may contain the URL, and so the connection token.
        default:
            let message = """
                Request failed: the HTTP client threw an error of the type '\(type(of: error))'. Only the error's cause \
                contains its text, which may be secret.
                """
            self = .client(SignalRClientError(.connectionFailed, message, cause: error))
        }
    }

    /// Makes the failure for a request of an open transport that failed. The connection is then lost.
    static func lost(_ error: any Error) -> Self {
        switch HubFailure(error) {
        case .signalR(.unexpectedResponseCode(let status)):
            let message = "Connection lost: the server answered a request with HTTP status \(status)."
            return .client(SignalRClientError(.transportClosed, message, httpStatus: status, cause: error))
        case .signalR(let failure):
            return .client(SignalRClientError(.transportClosed, "Connection lost: \(failure)", cause: error))
        case .client(let failure) where failure.code == .connectionFailed || failure.code == .tlsFailed:
            let message = "Connection lost: \(failure.message)"
            return .client(
                SignalRClientError(
                    .transportClosed,
                    message,
                    httpStatus: failure.httpStatus,
                    address: failure.address,
                    cause: failure.cause
                )
            )
        // The other codes say more than the loss.
        case .client, .cancelled: return HubFailure(error)
        }
    }
}
