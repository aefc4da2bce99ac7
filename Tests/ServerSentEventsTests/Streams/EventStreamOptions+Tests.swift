import RealtimeNetworking
import ServerSentEvents
import TestSupport

extension EventStreamOptions {
    /// Reconnects at once.
    static var quick: EventStreamOptions {
        with(EventStreamOptions()) {
            $0.reconnectionTime = .zero; $0.retryPolicy = .delays([.zero])
        }
    }

    /// Never reconnects.
    static var once: EventStreamOptions { with(EventStreamOptions()) { $0.reconnection = .never } }
}

extension EventStreamConnector {
    /// A connector with a long time limit for connecting, for slow machines.
    static var patient: EventStreamConnector { patient(tls: TLSOptions()) }

    static func patient(tls: TLSOptions) -> EventStreamConnector {
        EventStreamConnector(tls: tls, connectTimeout: .patience)
    }
}
