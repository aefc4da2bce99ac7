import Foundation

@testable import PusherServerAPI

enum PusherServerAPISamples {
    static func make() throws -> [Any] {
        let application = PusherServerAPI.Application(
            id: "1",
            key: "app-key",
            secret: "hush",
            encryptionMasterKey: "hush" + String(repeating: "A", count: 39) + "="
        )
        let endpoint = PusherServerAPI.Endpoint(host: "api.test")
        var options = PusherServerAPI.Options()
        options.proxy = SharedSamples.proxy
        let api = try PusherServerAPI(application: application, endpoint: endpoint, options: options)
        let event = PusherServerAPI.Event("e", data: "1")
        let webhook = PusherServerAPI.WebhookEvent(.init(rawValue: "channel_occupied"), channel: "a")
        let error = PusherServerAPIError(.unexpectedAnswer, "Request failed: the server answered 500.")
        let cached = PusherServerAPI.CachedEvent(data: "1")
        return SharedSamples.all + [
            HTTPHeader(name: "Cookie", value: "hush"), ["Cookie": "hush"] as HTTPHeaderFields, api, application,
            try api.authorizeChannel("private-a", socketID: "1.2"),
            try api.authorizeChannel("private-encrypted-a", socketID: "1.2"),
            PusherServerAPI.BatchEvent(event, on: "a"), cached,
            PusherServerAPI.ChannelState(isOccupied: true, cachedEvent: cached), endpoint, event,
            PusherServerAPI.Limits(), PusherServerAPI.Member(id: "ada"), options, PusherServerAPI.User(id: "ada"),
            PusherServerAPI.Webhook(time: Date(), events: [webhook]), webhook, error,
            RetryContext(retryCount: 1, elapsed: .zero, reason: error), StandardRetryPolicy.exponential(),
        ]
    }
}
