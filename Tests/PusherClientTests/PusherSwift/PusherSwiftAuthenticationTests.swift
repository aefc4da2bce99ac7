import ClientTestSupport
import Dispatch
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// PusherSwift's tests of authorizing that no other test of this package covers.
@Suite("PusherSwift: authorizing", .limited)
struct PusherSwiftAuthenticationTests {
    let world = VirtualWorld()

    @Test(
        "the client sends the percent-encoded channel name to an endpoint after it has connected",
        arguments: [
            ("private-test-channel", "private-test-channel"),
            ("private-table@place=7;date=2026-01-13", "private-table%40place%3D7%3Bdate%3D2026-01-13"),
        ]
    )
    func endpoint(name: String, encoded: String) async throws {
        let delegate = RecordingDelegate()
        let pusher = world.makeClient()
        pusher.delegate = delegate
        let channel = pusher.subscribe(name)
        await world.run()
        #expect(!channel.subscribed)
        #expect(world.server.records.isEmpty)
        pusher.connect()
        await world.runUntil { delegate.subscriptions.count == 1 }
        #expect(channel.subscribed)
        #expect(delegate.subscriptions.elements == [name])
        let socketID = try #require(pusher.connection.socketId)
        let bodies = world.server.authorizationRequests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies == ["socket_id=\(socketID)&channel_name=\(encoded)"])
    }

    @Test("the client makes an inline signature, and sets the channel as subscribed before it reports success")
    func inline() async throws {
        let method = AuthMethod.inline(secret: world.server.options.application.secret)
        let pusher = world.makeClient(.virtual(authMethod: method))
        let channel = pusher.subscribe("private-test-channel")
        let subscribed = Log<Bool>()
        channel.bind(eventName: "pusher:subscription_succeeded") { [unowned channel] _ in
            subscribed.append(channel.subscribed)
        }
        #expect(!channel.subscribed)
        pusher.connect()
        await world.runUntil { subscribed.count == 1 }
        #expect(subscribed.elements == [true])
        #expect(world.server.authorizationRequests.isEmpty)
    }

    @Test("the client does not subscribe a private channel without an authMethod")
    func noMethod() async throws {
        let delegate = RecordingDelegate()
        let pusher = world.makeClient(.virtual(authMethod: .noMethod))
        pusher.delegate = delegate
        let channel = pusher.subscribe("private-test-channel")
        pusher.connect()
        await world.runUntil { delegate.failures.count == 1 }
        #expect(delegate.failures.elements == ["private-test-channel"])
        #expect(!channel.subscribed)
        #expect(world.server.receivedMessages().isEmpty)
    }

    @Test("a callback on the main queue gets an endpoint's failure as pusher:subscription_error")
    @MainActor func failure() async throws {
        world.server.failAuthorizations(with: .status(500))
        let limits = PusherClientOptions.Limits(authorizationTries: 1)
        let pusher = world.makeClient(.virtual(limits: limits, callbackQueue: .main))
        let key = DispatchSpecificKey<String>()
        DispatchQueue.main.setSpecific(key: key, value: "main")
        let told = Log<String>()
        pusher.bind { event in
            let queue = DispatchQueue.getSpecific(key: key) ?? "another"
            told.append("\(event.eventName) \(event.channelName ?? "-") \(queue)")
        }
        let channel = pusher.subscribe("private-test-channel")
        pusher.connect()
        await world.runUntil { told.count == 1 }
        #expect(told.elements == ["pusher:subscription_error private-test-channel main"])
        #expect(!channel.subscribed)
    }

    @Test("the client sends a builder's request with its header and body, and subscribes with the answer")
    func requestBuilder() async throws {
        let method = RequestBuilderTests.method(url: VirtualWorld.authEndpoint) { request in
            request.addValue("token", forHTTPHeaderField: "Authorization")
        }
        let delegate = RecordingDelegate()
        let pusher = world.makeClient(.virtual(authMethod: method))
        pusher.delegate = delegate
        let channel = pusher.subscribe("private-test-channel")
        #expect(!channel.subscribed)
        pusher.connect()
        await world.runUntil { delegate.subscriptions.count == 1 }
        #expect(channel.subscribed)
        #expect(world.server.authorizationRequests.map(\.method) == ["POST"])
        #expect(world.server.authorizationRequests.map { $0.header("Authorization") } == ["token"])
    }

    @Test(
        "the client subscribes with an authorizer's answer, as the user in the answer",
        arguments: [
            ("private-authorized", nil, nil),
            ("presence-authorized", #"{"user_id":"777", "user_info":{"city":"Porto"}}"#, "777"),
        ] as [(String, String?, String?)]
    )
    func authorizer(name: String, channelData: String?, userID: String?) async throws {
        struct Backend: Authorizer {
            let server: PusherTestServer
            let channelData: String?

            func fetchAuthValue(
                socketID: String,
                channelName: String,
                completionHandler: @escaping @Sendable (PusherAuth?) -> Void
            ) {
                let signed = server.authorization(
                    forSocket: socketID,
                    channel: channelName,
                    channelData: channelData
                )
                completionHandler(PusherAuth(auth: signed.auth, channelData: signed.channelData))
            }
        }
        let backend = Backend(server: world.server, channelData: channelData)
        let delegate = RecordingDelegate()
        let pusher = world.makeClient(.virtual(authMethod: .authorizer(authorizer: backend)))
        pusher.delegate = delegate
        let channel = pusher.subscribe(name)
        #expect(!channel.subscribed)
        pusher.connect()
        await world.runUntil { delegate.subscriptions.count == 1 }
        #expect(channel.subscribed)
        #expect((channel as? PusherPresenceChannel)?.me()?.userId == userID)
    }

    @Test(
        "the client sends an authorization that the app passes before connect() unchanged",
        arguments: [
            ("private-manual-auth", nil, nil),
            ("presence-manual-auth", #"{"user_id":16,"user_info":{"time":"2026-02-20 14:54:36"}}"#, "16"),
        ] as [(String, String?, String?)]
    )
    func handedOver(name: String, channelData: String?, userID: String?) async throws {
        var options = PusherTestServer.Options()
        options.socketIDPrefix = 45_481
        let world = VirtualWorld(options)
        let signed = world.server.authorization(forSocket: "45481.1", channel: name, channelData: channelData)
        let delegate = RecordingDelegate()
        let pusher = world.makeClient(.virtual(authMethod: .noMethod))
        pusher.delegate = delegate
        let channel = pusher.subscribe(name, auth: PusherAuth(auth: signed.auth, channelData: channelData))
        #expect(!channel.subscribed)
        pusher.connect()
        await world.run()
        #expect(pusher.connection.socketId == "45481.1")
        #expect(channel.subscribed)
        #expect(delegate.subscriptions.elements == [name])
        let data = channelData.map { #","channel_data":"\#($0.replacing("\"", with: "\\\""))""# } ?? ""
        #expect(
            world.server.receivedMessages() == [
                #"{"event":"pusher:subscribe","data":{"channel":"\#(name)","auth":"\#(signed.auth)"\#(data)}}"#
            ]
        )
        #expect((channel as? PusherPresenceChannel)?.myId == userID)
    }
}
