import ClientTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import PusherTestServer
import RealtimeHTTP
import RealtimeNetworking
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Checking, reconnecting and resubscribing, on real sockets", .limited)
struct LifecycleTests {
    @Test("checkConnection() detects a dead connection long before its timeouts, and the client reconnects")
    func checkConnection() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(server)
            let channel = pusher.subscribe("orders")
            var errors = pusher.errors.makeAsyncIterator()
            var events = channel.events(named: "after").makeAsyncIterator()
            var resubscriptions = channel.resubscriptions.makeAsyncIterator()
            let socketID = try await pusher.connected()
            try await channel.subscribed()
            pusher.checkConnection(timeout: .patience)
            try await server.nextRecord(timeout: .patience) { record in
                guard case .messageReceived(let text) = record.event else { return false }
                return text.contains("pusher:ping")
            }
            // The test waits for this event, because the pong arrives before the event. A late pong could answer the next
            // ping.
            try server.publish(event: "after", data: "", to: "orders")
            #expect(await events.next() != nil)
            server.goSilent(.socket(socketID))
            pusher.checkConnection(timeout: .milliseconds(100))
            #expect(await errors.next()?.code == .pongTimedOut)
            #expect(await resubscriptions.next() != nil)
            await pusher.disconnected()
        }
    }

    @Test("a client runs on the given threads")
    func eventLoopGroup() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { group.shutdownGracefully { _ in } }
        try await PusherTestServer.withServer { server in
            let options = PusherClientOptions(
                authMethod: .endpoint(server.url + "/pusher/auth"),
                host: .host(server.host),
                port: server.port,
                useTLS: false,
                timeouts: .patient,
                callbackQueue: .eventLoop,
                logger: .quiet
            )
            let pusher = Pusher(key: server.options.application.key, options: options, eventLoopGroup: group)
            let (threads, thread) = AsyncStream.makeStream(of: Bool.self)
            pusher.subscribe("private-orders").bind(eventName: "pusher:subscription_succeeded") { _ in
                thread.yield(group.next().inEventLoop)
            }
            try await pusher.connected()
            #expect(await threads.first { _ in true } == true)
            await pusher.disconnected()
        }
    }

    @Test("endless chains of calls do not block the sockets of the event loop")
    func endlessCalls() async throws {
        // This test has its own group, so other tests do not have to wait.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { group.shutdownGracefully { _ in } }
        try await PusherTestServer.withServer { server in
            let options = PusherClientOptions(
                host: .host(server.host),
                port: server.port,
                useTLS: false,
                timeouts: .patient,
                callbackQueue: .eventLoop,
                logger: .quiet
            )
            let proxies = ProxyRules(options.proxy)
            let pusher = Pusher(
                key: server.options.application.key,
                options: options,
                environment: .init(
                    eventLoop: group.next(),
                    transport: WebSocketTransport(options, dialer: Dialer(proxies: proxies)),
                    requester: PooledHTTPRequester(tls: TLSContextSource(options.tls), proxies: proxies),
                    proxies: proxies
                )
            )
            let orders = pusher.subscribe("orders")
            try await pusher.connected()
            try await orders.subscribed()
            let gone = pusher.subscribe("private-gone")
            pusher.unsubscribe("private-gone")
            let received = Log<String>()
            orders.bind(eventName: "e") { received.append($0.data ?? "") }
            let delegate = PersistentDelegate { count in
                if received.count == 0, count < 1_000_000 { gone.trigger(eventName: "client-a", data: 1) }
            }
            pusher.delegate = delegate
            var events = orders.events(named: "e").makeAsyncIterator()
            gone.trigger(eventName: "client-a", data: 1)
            try server.publish(event: "e", data: "1", to: "orders")
            #expect(await events.next() != nil)
            #expect(delegate.errorCount < 1_000_000)
            await pusher.disconnected()
        }
    }

    @Test("reconnectNow() opens another connection with the same channels")
    func reconnectNow() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(server)
            let channel = pusher.subscribe("orders")
            var resubscriptions = channel.resubscriptions.makeAsyncIterator()
            let socketID = try await pusher.connected()
            try await channel.subscribed()
            pusher.reconnectNow()
            #expect(await resubscriptions.next() != nil)
            #expect(try await pusher.connected() != socketID)
            await pusher.disconnected()
        }
    }

    @Test("resubscribe() subscribes a refused channel after the cause is removed, with a new list of members")
    func resubscribe() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(
                server,
                authMethod: .endpoint(server.url + "/pusher/auth", parameters: ["user_id": "ada"])
            )
            server.failAuthorizations(with: .status(403, body: "no"))
            let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            var memberships = room.memberships.makeAsyncIterator()
            try await pusher.connected()
            await #expect(throws: SubscriptionError.self) { try await room.subscribed() }
            server.acceptAuthorizations()
            room.resubscribe()
            try await room.subscribed()
            #expect(room.me()?.userId == "ada")
            #expect(await memberships.next()?.memberCount == 1)
            room.resubscribe()
            #expect(!room.subscribed)
            try await room.subscribed()
            #expect(await memberships.next()?.memberCount == 1)
            try await server.nextRecord(timeout: .patience) { $0.event == .unsubscribed(channel: "presence-room") }
            await pusher.disconnected()
        }
    }
}

extension MembershipChange {
    fileprivate var memberCount: Int? {
        guard case .replaced(let members, _, _) = self else { return nil }
        return members.count
    }
}

/// A delegate that answers each error with a call that causes the next error.
private final class PersistentDelegate: PusherDelegate {
    private let count = NIOLockedValueBox(0)
    private let answer: @Sendable (Int) -> Void

    init(answer: @escaping @Sendable (Int) -> Void) { self.answer = answer }

    var errorCount: Int { count.withLockedValue { $0 } }

    func receivedError(error: PusherError) {
        let count = count.withLockedValue { count in
            count += 1
            return count
        }
        answer(count)
    }
}
