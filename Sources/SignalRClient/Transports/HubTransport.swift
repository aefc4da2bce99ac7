package import NIOCore
package import SignalRCore

/// A transport that carries the bytes of a connection. All calls are made on the event loop.
package protocol HubTransport: Sendable {
    /// Sends bytes after those of earlier calls. The promise succeeds when they are written or, for a request, accepted.
    func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?)

    /// Sends the waiting bytes, and ends the transport as the server expects it. `.closed` follows.
    func close()

    /// Ends the transport at once. No event follows.
    func abort()
}

/// An event of a transport. Events are reported on the event loop, in order. `.closed` is the last one.
package enum HubTransportEvent: Sendable {
    case bytes([UInt8])
    /// Without a failure if the server closed it properly.
    case closed(HubFailure?)
}

/// A transport that is open.
package struct OpenedTransport: Sendable {
    package typealias Receiver = @Sendable (HubTransportEvent) -> Void

    package var transport: any HubTransport
    package var info: TransportInfo
    /// Opens another transport for the same connection.
    package var reopen: @Sendable (_ receive: @escaping Receiver) async throws -> any HubTransport

    package init(
        _ transport: any HubTransport,
        _ info: TransportInfo,
        reopen: @escaping @Sendable (_ receive: @escaping Receiver) async throws -> any HubTransport
    ) {
        self.transport = transport
        self.info = info
        self.reopen = reopen
    }
}

/// Opens transports.
package protocol HubTransportOpener: Sendable {
    /// Agrees with the server on a transport, and opens it.
    ///
    /// The task is cancelled if the transport is no longer needed. If it returns one nevertheless, that is aborted.
    ///
    /// - Parameter wantsResumption: Whether to request a connection that can be resumed.
    func open(
        wantsResumption: Bool,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> OpenedTransport
}

extension HubFailure {
    /// The core's view of an error.
    init(_ error: any Error) {
        switch error {
        case let error as HubFailure: self = error
        case let error as SignalRError: self = .signalR(error)
        case let error as SignalRClientError: self = .client(error)
        case is CancellationError: self = .cancelled
        default: self = .client(SignalRClientError(.connectionFailed, "\(error)", cause: error))
        }
    }
}
