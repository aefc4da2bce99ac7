import Dispatch
import Logging
import NIOCore
import NIOPosix
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("The names that developers try first", .limited, .overEachTransport)
struct NamesTests {
    let world = VirtualWorld()

    @Test("the client has the properties socketID, state and status, and finds channels by name")
    func names() async throws {
        let pusher = world.makeClient()
        #expect(pusher.state == .disconnected)
        #expect(pusher.status == .initialized)
        #expect(pusher.socketID == nil)
        #expect(pusher.channel("orders") == nil)
        pusher.connect()
        // The event loop may already have connected the client.
        #expect(pusher.state != .disconnected)
        let orders = pusher.subscribe("orders")
        await world.run()
        #expect(pusher.state == .connected)
        #expect(pusher.socketID == world.server.connections.first?.socketID)
        #expect(pusher.status == .connected(socketID: try #require(pusher.socketID)))
        #expect(pusher.channel("orders") === orders)
        #expect(orders.isSubscribed && orders.subscribed)
        pusher.unsubscribe("orders")
        #expect(pusher.channel("orders") == nil)
        pusher.disconnect()
        await world.run()
        #expect(pusher.socketID == nil)
    }

    @Test("names of events and channels that differ only in Unicode normalization are different names")
    func normalization() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("K;")
        await world.run()
        let received = Log<String>()
        channel.bind(eventName: "caf\u{E9}") { received.append("composed: \($0.data ?? "")") }
        channel.bind(eventName: "cafe\u{301}") { received.append("decomposed: \($0.data ?? "")") }
        pusher.bind { received.append("\($0.channelName ?? ""): \($0.data ?? "")") }
        for (number, name) in ["caf\u{E9}", "cafe\u{301}", "cafe"].enumerated() {
            world.server.sendEvent(name, data: "\(number)", channel: "K;")
        }
        // The Kelvin sign and the Greek question mark look like the letter and the semicolon.
        world.server.sendEvent("caf\u{E9}", data: "3", channel: "\u{212A}\u{37E}")
        await world.run()
        #expect(received.take() == ["K;: 0", "composed: 0", "K;: 1", "decomposed: 1", "K;: 2"])
    }

    @Test("the property channels contains the app's channels in order, with and without a connection")
    func channels() async throws {
        let pusher = world.makeClient()
        #expect(pusher.channels.isEmpty)
        let channels = ["orders", "private-a", "no name", "presence-a"].map { pusher.subscribe($0) }
        #expect(pusher.channels == channels)
        pusher.connect()
        await world.runUntil { channels[3].isSubscribed }
        pusher.unsubscribe("private-a")
        #expect(pusher.channels == [channels[0], channels[2], channels[3]])
        pusher.disconnect()
        pusher.unsubscribeAll()
        #expect(pusher.channels.isEmpty)
    }

    @Test(
        "a channel reports whether it is encrypted, and whether it has a cache",
        arguments: [
            ("a", PusherChannelType.normal, false, false), ("cache-a", .normal, false, true),
            ("private-a", .private, false, false), ("private-cache-a", .private, false, true),
            ("private-encrypted-a", .private, true, false), ("private-encrypted-cache-a", .private, true, true),
            ("presence-a", .presence, false, false), ("presence-cache-a", .presence, false, true),
            ("my-private-encrypted-a", .normal, false, false),
        ]
    )
    func kinds(name: String, type: PusherChannelType, isEncrypted: Bool, isCache: Bool) {
        let channel = world.makeClient().subscribe(name)
        #expect(channel.type == type)
        #expect(channel.isEncrypted == isEncrypted)
        #expect(PusherChannelType.isEncryptedChannel(name: name) == isEncrypted)
        #expect(channel.isCache == isCache)
        #expect(PusherChannelType.isCacheChannel(name: name) == isCache)
    }
}

@Suite("Options as properties", .limited, .overEachTransport)
struct OptionPropertyTests {
    let world = VirtualWorld()

    @Test("an app can select a cluster of the hosted service by its name")
    func cluster() {
        #expect(PusherClientOptions(cluster: "eu").endpoint == .pusher(cluster: "eu"))
        #expect(PusherClientOptions(cluster: "eu").host == "ws-eu.pusher.com")
    }

    @Test("an app can set properties of the options, and a client keeps the values from its creation")
    func snapshot() async throws {
        let options = PusherClientOptions.virtual()
        options.retryPolicy = .delays([.seconds(7)])
        options.autoReconnect = true
        let pusher = try await world.makeConnectedClient(options)
        options.retryPolicy = .delays([.seconds(1)])
        options.autoReconnect = false
        options.endpoint = PusherEndpoint(host: "elsewhere.test")
        #expect(options.port == 443 && options.useTLS)
        world.network.cutLinks()
        await world.run()
        guard case .waiting = pusher.status else { return #expect(Bool(false), "\(pusher.status)") }
        #expect(pusher.status.remaining(at: world.now) == .seconds(7))
        #expect(pusher.connection.endpoint.host == "server.test")
    }

    @Test("a client reads all options at once, even if other code changes the options at the same time")
    func snapshotOfOneMoment() {
        /// A group that changes the options, like code on another thread.
        final class ChangingGroup: EventLoopGroup {
            let change: @Sendable () -> Void
            init(_ change: @escaping @Sendable () -> Void) { self.change = change }
            func next() -> any EventLoop {
                change()
                return MultiThreadedEventLoopGroup.singleton.next()
            }
            func makeIterator() -> EventLoopIterator { MultiThreadedEventLoopGroup.singleton.makeIterator() }
            func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
                callback(nil)
            }
        }
        let options = PusherClientOptions(endpoint: PusherEndpoint(host: "server.test"))
        options.proxy = .direct
        let group = ChangingGroup {
            options.endpoint = PusherEndpoint(host: "elsewhere.test")
            options.proxy = .server(host: "proxy.test", port: 8080)
        }
        let pusher = Pusher(key: "app-key", options: options, eventLoopGroup: group)
        #expect(pusher.connection.endpoint.host == "server.test")
        #expect(pusher.engine.options.proxy == .direct)
        #expect(pusher.connection.options === options)
    }

    @Test("an app can change the authMethod of existing clients through their options")
    func authMethod() async throws {
        let options = PusherClientOptions.virtual(authMethod: .noMethod)
        let pusher = try await world.makeConnectedClient(options)
        options.authMethod = .endpoint(authEndpoint: VirtualWorld.authEndpoint)
        let channel = pusher.subscribe("private-a")
        await world.runUntil { channel.isSubscribed }
        #expect(pusher.connection.options === options)
    }

    @Test("the property logLevel reads and sets the logger's level")
    func logLevel() {
        let options = PusherClientOptions(cluster: "eu")
        // This test needs a separate logger, because the logger of most tests ignores its level.
        options.logger = LogLines().logger(.trace)
        options.logLevel = .silent
        #expect(options.logger.logLevel == .critical)
        options.logger.logLevel = .debug
        #expect(options.logLevel == .debug)
        for level in [PusherClientOptions.LogLevel.silent, .warning, .notice, .debug, .trace] {
            options.logLevel = level
            #expect(options.logLevel == level)
        }
    }

    @Test("an object can use the options while the options release the object")
    func release() {
        final class Owner: Sendable, RetryPolicy {
            let options: PusherClientOptions
            let released: Log<Double>
            init(_ options: PusherClientOptions, _ released: Log<Double>) {
                (self.options, self.released) = (options, released)
            }
            deinit { released.append(Double(options.limits.channels)) }
            func delay(for context: RetryContext) -> Duration? { nil }
        }
        let options = PusherClientOptions(cluster: "eu")
        let other = PusherClientOptions(cluster: "us2")
        let released = Log<Double>()
        other.retryPolicy = Owner(options, released)
        options.retryPolicy = Owner(other, released)
        options.retryPolicy = .exponential()
        #expect(released.count == 1)
        other.retryPolicy = .exponential()
        #expect(released.count == 2)
    }
}
