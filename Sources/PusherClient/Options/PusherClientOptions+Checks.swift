import Foundation
import RealtimeNetworking
import RealtimePrimitives

extension PusherClientOptions {
    /// Rejects options with which the client could not connect to any server.
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
        let problem = item.name.isEmpty ? "it has no name" : "the client sets it itself"
        throw PusherClientError(.invalidOption, "Invalid query item \(item.name.quoted): \(problem).")
    }

    private func checkTransports() throws(PusherClientError) {
        guard !transports.elements.isEmpty else {
            throw PusherClientError(
                .invalidOption,
                "Invalid option transports: it is empty. Name at least one transport, such as .webSocket."
            )
        }
    }

    private func checkNumbers() throws(PusherClientError) {
        if let timeout = activityTimeout, !(timeout >= 0.001) {
            throw PusherClientError(
                .invalidOption,
                "Invalid option activityTimeout: \(timeout) s is too short. Use 0.001 or more, or nil for the default."
            )
        }
        let durations = [
            ("connectionAttempt", timeouts.connectionAttempt), ("unavailable", timeouts.unavailable),
            ("pong", timeouts.pong), ("subscription", timeouts.subscription),
            ("authorization", timeouts.authorization), ("signIn", timeouts.signIn), ("closing", timeouts.closing),
        ]
        if let (name, duration) = durations.first(where: { $0.1 <= .zero }) {
            throw PusherClientError(
                .invalidOption,
                "Invalid option timeouts.\(name): \(duration.inWords) is not positive."
            )
        }
        guard timeouts.backOffReset >= .zero else {
            throw PusherClientError(
                .invalidOption,
                "Invalid option timeouts.backOffReset: \(timeouts.backOffReset.inWords) is negative."
            )
        }
        let sizes = [
            ("messageSize", limits.messageSize), ("sequenceBuffer", limits.sequenceBuffer),
            ("pendingCallbacks", limits.pendingCallbacks),
            ("listenerBufferSize", limits.listenerBufferSize), ("totalBufferSize", limits.totalBufferSize),
            ("authorizationsAtOnce", limits.authorizationsAtOnce),
            ("authorizationTries", limits.authorizationTries ?? 1),
            ("authorizationResponseSize", limits.authorizationResponseSize),
            ("queuedClientEvents", limits.queuedClientEvents),
            ("clientEventsPerSecond", limits.clientEventsPerSecond ?? 1),
            ("clientEventSize", limits.clientEventSize), ("heldEncryptedEvents", limits.heldEncryptedEvents),
            ("channels", limits.channels), ("bindings", limits.bindings), ("members", limits.members),
            ("sendBufferSize", limits.sendBufferSize),
        ]
        if let (name, size) = sizes.first(where: { $0.1 <= 0 }) {
            throw PusherClientError(.invalidOption, "Invalid option limits.\(name): \(size) is not positive.")
        }
        // The buffers for messages hold at most 4 GiB, and grow by doubling.
        guard limits.messageSize <= 1 << 30 else {
            throw PusherClientError(
                .invalidOption,
                "Invalid option limits.messageSize: \(limits.messageSize) bytes exceed the maximum of \(1 << 30) bytes."
            )
        }
    }
}
