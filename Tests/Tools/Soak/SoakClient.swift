import ClientTestSupport
import Logging
import PusherClient
import PusherTestServer

/// A client with its channels, and the sequence of its statuses.
final class SoakClient {
    let pusher: Pusher
    let channels: [PusherChannel]
    private var statuses: EventSequence<ConnectionStatus>.AsyncIterator

    init(server: PusherTestServer, host: String, port: Int, retryPolicy: any RetryPolicy, channelNames: [String]) {
        let application = server.options.application
        let pusher = Pusher(
            key: application.key,
            options: PusherClientOptions(
                authMethod: .inline(
                    secret: application.secret,
                    encryptionMasterKey: server.options.encryptionMasterKey
                ),
                host: .host(host),
                port: port,
                useTLS: false,
                retryPolicy: retryPolicy,
                callbackQueue: .eventLoop,
                logger: Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        self.pusher = pusher
        statuses = pusher.statuses.makeAsyncIterator()
        channels = channelNames.map { pusher.subscribe($0) }
        // A callback on each channel lets the command find leaks of callbacks too.
        for channel in channels { channel.bind(eventName: "created") { _ in } }
    }

    /// Waits for the next status that satisfies a condition.
    @discardableResult
    func waitForStatus(where matches: (ConnectionStatus) -> Bool) async throws -> ConnectionStatus {
        while let status = await statuses.next(isolation: #isolation) {
            if matches(status) { return status }
        }
        throw ExitMessage("the sequence of statuses ended")
    }

    /// Waits for a new connection with all channels, and returns its socket id.
    func waitForRecovery(from socketID: String?) async throws -> String? {
        var newID: String?
        try await waitForStatus { status in
            guard case .connected(let id) = status, id != socketID else { return false }
            newID = id
            return true
        }
        for channel in channels { try await channel.subscribed() }
        return newID
    }
}
