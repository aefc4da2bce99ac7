import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import SignalRClient
import SignalRCore

/// Opens transports that accept the handshake, and then do nothing.
final class BareOpener: HubTransportOpener {
    private struct State: Sendable {
        var eventLoop: (any EventLoop)?
        var receive: OpenedTransport.Receiver?
    }

    private let state = NIOLockedValueBox(State())

    func open(
        wantsResumption: Bool,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> OpenedTransport {
        state.withLockedValue { $0 = State(eventLoop: eventLoop, receive: receive) }
        let transport = BareTransport(eventLoop: eventLoop, receive: receive)
        return OpenedTransport(transport, TransportInfo(connectionID: nil, transport: .webSockets)) { _ in transport }
    }

    /// Passes a call of the server to the client, without a result.
    func call(_ method: String, _ number: Int) {
        let state = state.withLockedValue { $0 }
        let text = #"{"type":1,"target":"\#(method)","arguments":[\#(number)]}"# + "\u{1e}"
        state.eventLoop?.execute { state.receive?(.bytes(Array(text.utf8))) }
    }

    /// Runs the body while the event loop is blocked. The event loop then handles the loss of the connection, and after
    /// it the calls of the body.
    func blockingTheLoop<T>(_ body: () async throws -> sending T) async throws -> sending T {
        let state = state.withLockedValue { $0 }
        let semaphore = DispatchSemaphore(value: 0)
        state.eventLoop?.execute {
            semaphore.wait()
            state.receive?(.closed(nil))
        }
        defer { semaphore.signal() }
        return try await body()
    }
}

private struct BareTransport: HubTransport {
    var eventLoop: any EventLoop
    var receive: OpenedTransport.Receiver

    func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?) {
        promise?.succeed()
        // The first message of the client is the handshake, and later messages get no answer.
        if bytes.starts(with: #"{"protocol""#.utf8) {
            eventLoop.execute { receive(.bytes(Handshake.response(error: nil))) }
        }
    }

    func close() { receive(.closed(nil)) }
    func abort() {}
}
