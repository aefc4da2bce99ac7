import Foundation
import Logging
import PusherClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The examples of the article "Going to production", as functions that the tests call.
enum Production {
    // MARK: Network

    static func endpoints() -> [PusherClientOptions] {
        let hosted = PusherClientOptions(cluster: "eu")
        let reverb = PusherClientOptions(endpoint: .reverb(host: "ws.example.com"))
        let soketi = PusherClientOptions(endpoint: .soketi(host: "127.0.0.1", useTLS: false))
        let other = PusherClientOptions(endpoint: PusherEndpoint(host: "ws.example.com", port: 8443, path: "/realtime"))
        return [hosted, reverb, soketi, other]
    }

    static func proxied(
        _ endpoint: PusherEndpoint,
        host: String,
        port: Int,
        password: String,
        authMethod: AuthMethod,
        tls: TLSOptions
    ) -> PusherClientOptions {
        let proxy = HTTPProxy.server(
            host: host,
            port: port,
            credentials: .init(username: "service", password: password),
            exempting: ["internal.example.com", "10.0.0.0/8"]
        )
        let options = PusherClientOptions(endpoint: endpoint)
        options.authMethod = authMethod
        options.tls = tls
        options.proxy = proxy
        return options
    }

    static func pinned(currentPin: String, reservePin: String, chain: String, key: String, roots: String) -> TLSOptions
    {
        let tls = TLSOptions(
            trustRoots: .systemAnd(pem: roots),
            pins: [currentPin, reservePin],
            clientCertificate: TLSOptions.ClientCertificate(certificateChain: chain, privateKey: key)
        )
        return tls
    }

    static func gateway(_ endpoint: PusherEndpoint, tenant: String, token: String) -> PusherClientOptions {
        let options = PusherClientOptions(endpoint: endpoint)
        options.headers = ["X-Gateway-Token": token]
        options.queryItems = [URLQueryItem(name: "tenant", value: tenant)]
        return options
    }

    // MARK: Lifecycle

    static func failOver(
        _ pusher: Pusher,
        to endpoint: PusherEndpoint,
        key: String,
        authMethod: AuthMethod
    ) async throws {
        try pusher.switchTo(endpoint: endpoint, key: key, authMethod: authMethod)
        try await pusher.connected()
    }

    static func retryLines(_ pusher: Pusher, show: @Sendable (String) -> Void) async {
        for await status in pusher.statuses(every: .seconds(1)) {
            switch status {
            case .connected: show("online")
            case .waiting(let until, _, let reason):
                show("retrying in \((until - .now).components.seconds + 1) s: \(reason.message)")
            case .refused(let error), .disconnected(let error?): show("offline: \(error.message)")
            case .initialized, .connecting, .unavailable: show("connecting")
            case .disconnecting, .disconnected(nil): show("offline")
            }
        }
    }

    static func goodbye(_ pusher: Pusher) async {
        await pusher.disconnected()
    }

    static func tokenIsFresh(_ channel: PusherChannel) async throws {
        channel.resubscribe()
        try await channel.subscribed()
    }

    // MARK: Use

    static func share(_ pusher: Pusher, show: @Sendable (String) -> Void) async {
        await pusher.withChannel("orders") { channel in
            for await event in channel.events(named: "created") { show(event.data ?? "") }
        }
    }

    static func socketID(_ pusher: Pusher, url: URL) async throws -> URLRequest {
        try await pusher.connected()
        var request = URLRequest(url: url)
        request.setValue(pusher.socketID, forHTTPHeaderField: "X-Socket-ID")
        return request
    }

    static func chunked(_ endpoint: PusherEndpoint, authMethod: AuthMethod) -> PusherClientOptions {
        let options = PusherClientOptions(endpoint: endpoint)
        options.authMethod = authMethod
        options.payloadTransformer = ChunkedEvents()
        return options
    }
}

/// Part of a screen that shows orders.
@MainActor
final class OrderList {
    private(set) var orders: [String] = []
    private var observations: [EventObservation] = []

    init(_ pusher: Pusher) {
        let channel = pusher.subscribe("orders")
        observations = [
            channel.observe(named: "created", on: MainActor.shared) { [weak self] event in
                self?.orders.append(event.data ?? "")
            },
            channel.observe(named: "cleared", on: MainActor.shared) { [weak self] _ in self?.orders.removeAll() },
        ]
    }
}
