import Foundation
import RealtimeNetworking
import RealtimePrimitives

extension PusherClientOptions {
    /// Refuses what no attempt could be made with, whatever the server.
    func checkForConnecting() throws(PusherClientError) {
        try checkNumbers()
        try checkQueryItems()
        try checkTransports()
        do throws(NetworkError) {
            try tls.validate()
        } catch {
            throw PusherClientError(error)
        }
    }

    private func checkQueryItems() throws(PusherClientError) {
        let own = ["client", "version", "protocol"]
        guard let item = queryItems.first(where: { $0.name.isEmpty || own.contains($0.name) }) else { return }
        let problem = item.name.isEmpty ? "has no name" : "is set by the client itself"
        throw PusherClientError(.invalidOption, "the query item \(item.name.quoted) \(problem)")
    }

    private func checkTransports() throws(PusherClientError) {
        guard let first = transports.elements.first else {
            throw PusherClientError(.invalidOption, "transports is empty; name at least one, such as .webSocket")
        }
        guard tls.pins.isEmpty || transports.elements.contains(.webSocket) else {
            throw PusherClientError(
                .invalidOption,
                "tls.pins cannot be checked by \(first); add .webSocket to transports, or leave the pins out"
            )
        }
    }

    private func checkNumbers() throws(PusherClientError) {
        if let timeout = activityTimeout, !(timeout >= 0.001) {
            throw PusherClientError(
                .invalidOption,
                "the activityTimeout \(timeout) is not at least 0.001 seconds"
            )
        }
        let durations = [
            ("connectionAttempt", timeouts.connectionAttempt), ("unavailable", timeouts.unavailable),
            ("pong", timeouts.pong), ("subscription", timeouts.subscription),
            ("authorization", timeouts.authorization), ("signIn", timeouts.signIn), ("closing", timeouts.closing),
        ]
        if let (name, duration) = durations.first(where: { $0.1 <= .zero }) {
            throw PusherClientError(.invalidOption, "the timeout \(name), \(duration), is not positive")
        }
        guard timeouts.backOffReset >= .zero else {
            throw PusherClientError(.invalidOption, "the timeout backOffReset, \(timeouts.backOffReset), is negative")
        }
        let sizes = [
            ("messageSize", limits.messageSize), ("sequenceBuffer", limits.sequenceBuffer),
            ("pendingCallbacks", limits.pendingCallbacks),
            ("listenerBufferSize", limits.listenerBufferSize), ("totalBufferSize", limits.totalBufferSize),
            ("authorizationsAtOnce", limits.authorizationsAtOnce),
            ("authorizationTries", limits.authorizationTries),
            ("authorizationResponseSize", limits.authorizationResponseSize),
            ("queuedClientEvents", limits.queuedClientEvents),
            ("clientEventsPerSecond", limits.clientEventsPerSecond ?? 1),
            ("clientEventSize", limits.clientEventSize), ("heldEncryptedEvents", limits.heldEncryptedEvents),
            ("channels", limits.channels), ("bindings", limits.bindings), ("members", limits.members),
            ("sendBufferSize", limits.sendBufferSize),
        ]
        if let (name, size) = sizes.first(where: { $0.1 <= 0 }) {
            throw PusherClientError(.invalidOption, "the limit \(name), \(size), is not positive")
        }
        // The buffers that messages are collected in hold no more than 4 GiB, and grow by doubling.
        guard limits.messageSize <= 1 << 30 else {
            throw PusherClientError(
                .invalidOption,
                "the limit messageSize, \(limits.messageSize), is more than a GiB: \(1 << 30) bytes"
            )
        }
    }
}
