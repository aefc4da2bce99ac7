import PusherTestServer
import TestTraits
import Testing

@testable import PusherClient

/// PusherSwift's tests of creating a client, and of the settings of its connection.
@Suite("PusherSwift: creating a client", .limited)
struct PusherSwiftOptionsTests {
    private static let query = "client=pusher-client-swift&version=\(Endpoint.version)&protocol=7"

    @Test("a new client has a disconnected connection with its key")
    func connection() {
        let pusher = Pusher(key: "testKey123")
        #expect(pusher.connection.key == "testKey123")
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(pusher.connection.socketId == nil)
    }

    @Test(
        "the URL has port 443 with TLS, which is the default, and port 80 without TLS",
        arguments: [
            (PusherClientOptions(), "wss://ws.pusherapp.com:443"),
            (PusherClientOptions(useTLS: false), "ws://ws.pusherapp.com:80"),
        ]
    )
    func url(options: PusherClientOptions, start: String) {
        let pusher = Pusher(key: "testKey123", options: options)
        #expect(pusher.connection.url == "\(start)/app/testKey123?\(Self.query)")
    }

    @Test("unset options have their default values")
    func defaults() {
        let pusher = Pusher(key: "testKey123")
        let options = pusher.connection.options
        guard case .noMethod = options.authMethod else {
            Issue.record("\(options.authMethod)")
            return
        }
        #expect(options.autoReconnect)
        #expect(options.host == "ws.pusherapp.com")
        #expect(options.port == 443)
        #expect(options.path == nil)
        #expect(options.useTLS)
        #expect(options.activityTimeout == nil)
        #expect(pusher.connection.activityTimeoutInterval == 120)
    }

    @Test("the options contain the given authorization method")
    func authMethod() {
        let endpoint = PusherClientOptions(authMethod: .endpoint(authEndpoint: "http://myapp.com/auth"))
        guard
            case .endpoint("http://myapp.com/auth") = Pusher(key: "key", options: endpoint).connection.options
                .authMethod
        else {
            Issue.record("\(endpoint.authMethod)")
            return
        }
        let inline = PusherClientOptions(authMethod: .inline(secret: "superSecret"))
        guard case .inline("superSecret") = Pusher(key: "key", options: inline).connection.options.authMethod else {
            Issue.record("\(inline.authMethod)")
            return
        }
    }

    @Test("each option that is set has the given value")
    func given() {
        #expect(PusherClientOptions(host: .host("test.test.test")).host == "test.test.test")
        #expect(PusherClientOptions(port: 123).port == 123)
        #expect(PusherClientOptions(host: .cluster("eu")).host == "ws-eu.pusher.com")
        let pusher = Pusher(key: "key", options: PusherClientOptions(activityTimeout: 123))
        #expect(pusher.connection.options.activityTimeout == 123)
        #expect(pusher.connection.activityTimeoutInterval == 123)
    }

    @Test("a new client has no userDataFetcher and no delegate")
    func settings() {
        let pusher = Pusher(key: "key")
        let delegate = RecordingDelegate()
        #expect(pusher.connection.userDataFetcher == nil)
        #expect(pusher.connection.delegate == nil)
        pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "123") }
        pusher.connection.delegate = delegate
        #expect(pusher.connection.userDataFetcher?().userId == "123")
        #expect(pusher.connection.delegate === delegate)
        #expect(pusher.delegate === delegate)
    }
}
