import NIOConcurrencyHelpers
import PusherEncryption
import RealtimeHTTP
import RealtimeNetworking

/// A sender of webhooks. The sender posts webhooks in order. The sender repeats each webhook until the status is 2xx,
/// up to a maximum number of tries.
final class WebhookSender: Sendable {
    typealias Report = @Sendable (PusherTestServer.Record.Event) -> Void

    /// The functions that post a webhook and that wait between two tries.
    struct Environment: Sendable {
        /// Posts a request and returns the status of the answer.
        var post: @Sendable (HTTPRequest) async throws -> Int
        var sleep: @Sendable (Duration) async throws -> Void
    }

    struct Webhook: Sendable {
        let body: String
        let report: Report
    }

    private let url: String
    private let application: PusherTestServer.Application
    private let state = NIOLockedValueBox(State())

    private struct State: Sendable {
        /// Whether the server listens. The sender sends webhooks only while the server listens.
        var isOpen = false
        var queue: AsyncStream<Webhook>.Continuation?
        var task: Task<Void, Never>?
    }

    private static let attempts = 6
    private static let firstDelay = Duration.milliseconds(100)
    private static let timeout = Duration.seconds(10)

    init(url: String, application: PusherTestServer.Application) {
        self.url = url
        self.application = application
    }

    var isOpen: Bool { state.withLockedValue { $0.isOpen } }

    func start() { state.withLockedValue { $0.isOpen = true } }

    func send(_ body: String, report: @escaping Report) {
        state.withLockedValue { state in
            guard state.isOpen else { return }
            let webhook = Webhook(body: body, report: report)
            if let queue = state.queue {
                queue.yield(webhook)
                return
            }
            let (webhooks, queue) = AsyncStream.makeStream(of: Webhook.self)
            queue.yield(webhook)
            state.queue = queue
            // The task captures only values, so that it does not retain the sender. The task ends when the queue is
            // finished.
            state.task = Task { [url, application] in await Self.run(webhooks, url, application) }
        }
    }

    /// Shuts down without waiting for unsent webhooks.
    func shutdown() async { await beginShutdown()?.value }

    @discardableResult
    func beginShutdown() -> Task<Void, Never>? {
        let ended = state.withLockedValue { state in
            defer { state = State() }
            return state
        }
        // Make both calls without the lock, because the calls resume waiting tasks, and these tasks may need the lock.
        ended.queue?.finish()
        ended.task?.cancel()
        return ended.task
    }

    /// Makes the HTTP client, sends the queued webhooks, and shuts the client down when the queue is finished.
    private static func run(
        _ webhooks: AsyncStream<Webhook>,
        _ url: String,
        _ application: PusherTestServer.Application
    ) async {
        let requester = PooledHTTPRequester(tls: TLSContextSource(TLSOptions()))
        defer { requester.shutdown() }
        let environment = Environment(
            post: { try await requester.response(to: $0).status },
            sleep: { try await Task.sleep(for: $0) }
        )
        for await webhook in webhooks { await send(webhook, url, application, environment) }
    }

    func headers(for body: String) -> HTTPFields { Self.headers(for: body, application) }

    private static func headers(for body: String, _ application: PusherTestServer.Application) -> HTTPFields {
        [
            "Content-Type": "application/json",
            "X-Pusher-Key": application.key,
            "X-Pusher-Signature": application.signer.signature(ofWebhook: Array(body.utf8)),
        ]
    }

    static func send(
        _ webhook: Webhook,
        _ url: String,
        _ application: PusherTestServer.Application,
        _ environment: Environment
    ) async {
        var request = HTTPRequest(
            url: url,
            method: "POST",
            headers: headers(for: webhook.body, application),
            body: Array(webhook.body.utf8),
            timeout: timeout,
            maximumResponseSize: 0
        )
        request.followsRedirects = false
        var delay = firstDelay
        for attempt in 1...attempts {
            do {
                let status = try await environment.post(request)
                webhook.report(.webhookAnswered(status: status))
                if (200..<300).contains(status) { return }
            } catch {
                guard !Task.isCancelled else { return }
                webhook.report(.webhookFailed(reason: (error as? HTTPRequestError)?.message ?? "\(error)"))
            }
            guard attempt < attempts, (try? await environment.sleep(delay)) != nil else { return }
            delay = delay * 2
        }
    }
}
