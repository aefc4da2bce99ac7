import ClientTestSupport
import Logging
import NIOConcurrencyHelpers
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Authorizing channels", .limited, .overEachTransport)
struct AuthorizingTests {
    let world = VirtualWorld()

    private var subscribes: [String] { world.server.receivedMessages().filter { $0.contains("pusher:subscribe") } }

    @Test("an endpoint authorizes a private channel with the standard request")
    func endpoint() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("private-a=@b")
        await world.runUntil { channel.subscribed }
        let request = try #require(world.server.authorizationRequests.first)
        let socketID = try #require(pusher.connection.socketId)
        #expect(request.method == "POST")
        #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
        #expect(String(decoding: request.body, as: UTF8.self) == "socket_id=\(socketID)&channel_name=private-a%3D%40b")
    }

    @Test("the error of a subscription without an authMethod says what to do")
    func noMethod() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: .noMethod))
        let channel = pusher.subscribe("private-orders")
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(error?.code == .authorizationFailed)
        #expect((error?.cause as? AuthorizationError)?.code == .noMethod)
        #expect(error?.message.contains("authMethod") == true)
    }

    @Test("the waiting call, the event and the delegate get the same error, with status and body")
    func sameError() async throws {
        world.server.failAuthorizations(with: .status(403, body: "no entry"))
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let events = Log<PusherEvent>()
        let channel = try await world.atOnce {
            let channel = pusher.subscribe("private-orders")
            channel.bind(eventName: "pusher:subscription_error") { events.append($0) }
            return channel
        }
        let thrown = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(thrown?.httpStatus == 403)
        #expect(thrown?.body == "no entry")
        #expect(thrown?.channelName == "private-orders")
        #expect(events.elements.map(\.subscriptionError) == [thrown])
        #expect(delegate.subscriptionErrors.elements == [thrown].compactMap { $0 })
        #expect(delegate.refusals.elements == ["403 no entry"])
        struct Data: Decodable, Equatable {
            var type: String
            var status: Int
        }
        #expect(try events.elements.first?.decode(as: Data.self) == Data(type: "AuthError", status: 403))
    }

    @Test(
        "an answer of the endpoint without a usable signature reaches the delegate and the debug log, without secrets"
    )
    func unusableAnswer() async throws {
        let token = String(repeating: "0f", count: 32)
        world.server.failAuthorizations(1, with: .status(200, body: "<p>Log in: \(token)</p>"))
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.debug)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channel = pusher.subscribe("private-orders")
        await world.runUntil { if case .failed = channel.subscriptionStatus { true } else { false } }
        #expect(delegate.refusals.elements == ["200 <p>Log in: (hidden)</p>"])
        #expect(lines.messages.contains { $0.contains("was: <p>Log in: (hidden)</p>") })
    }

    @Test("after a reconnect, the client sends no authorization for the old connection (pusher-js, PusherSwift 397)")
    func staleAuthorization() async throws {
        world.server.failAuthorizations(1, with: .delayed(.seconds(3)))
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("private-orders")
        await world.runUntil { world.server.authorizationRequests.count == 1 }
        world.server.dropConnections()
        await world.advance(by: .seconds(1))
        await world.runUntil { channel.subscribed }
        await world.advance(by: .seconds(5))
        let socketIDs = world.server.authorizationRequests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(Set(socketIDs).count == 2)
        #expect(subscribes.count == 1)
        #expect(channel.subscribed)
    }

    @Test("the client asks for an authorization until the backend is back, and reports the first failure")
    func retries() async throws {
        world.server.failAuthorizations(20, with: .status(503))
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(
            .virtual(requestRetryPolicy: .delays([.seconds(1)]), logger: lines.logger(.debug))
        )
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channel = pusher.subscribe("private-orders")
        let waiting = Task { try await channel.subscribed(timeout: .seconds(3_600)) }
        for count in 1...20 {
            await world.runUntil { world.server.authorizationRequests.count == count }
            await world.runUntil { pusher.isWaitingForNextTry }
            guard case .retrying(let error) = channel.subscriptionStatus else {
                Issue.record("\(channel.subscriptionStatus)")
                return
            }
            #expect(error.httpStatus == 503)
            await world.advance(by: .seconds(1))
        }
        _ = try await world.complete { try await waiting.value }
        #expect(channel.subscriptionStatus == .subscribed)
        #expect(world.server.authorizationRequests.count == 21)
        #expect(delegate.failures.elements == ["private-orders"])
        #expect(pusher.statistics.subscriptions.retried == 20 && pusher.statistics.subscriptions.failed == 1)
        #expect(lines.messages.count { $0.contains("Trying again in 1 s.") } == 20)
    }

    @Test("subscribed(timeout:) throws the last failure if the backend does not come back in time")
    func backendStaysDown() async throws {
        world.server.failAuthorizations(with: .status(503))
        let pusher = try await world.makeConnectedClient(
            .virtual(requestRetryPolicy: .delays([.seconds(1)]))
        )
        let channel = pusher.subscribe("private-orders")
        let waiting = Task { try await channel.subscribed(timeout: .seconds(5)) }
        await world.runUntil { pusher.engine.read { !$0.waiters.isEmpty } }
        for _ in 1...5 {
            await world.runUntil { pusher.isWaitingForNextTry }
            await world.advance(by: .seconds(1))
        }
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await waiting.value }
        }
        #expect(error?.code == .waitTimedOut && error?.httpStatus == 503)
        #expect((error?.cause as? SubscriptionError)?.code == .authorizationFailed)
        #expect(error?.message.contains("answered with status 503") == true)
    }

    @Test("1,000 clients whose backend comes back subscribe over the longest wait, and not all at once")
    func herd() async throws {
        // A client over HTTP needs several times as much work, so the test has fewer clients over HTTP.
        let count = world.transport == .webSocket ? 1_000 : 100
        world.server.failAuthorizations(with: .status(503))
        let clients = (1...count).map { seed in
            let generator = NIOLockedValueBox(SeededGenerator(seed: UInt64(seed)))
            return world.makeClient(.virtual(requestRetryPolicy: .exponential())) {
                generator.withLockedValue { Double.random(in: 0..<1, using: &$0) }
            }
        }
        for client in clients { client.connect() }
        let channels = clients.map { $0.subscribe("private-orders") }
        /// Waits until no client waits for the backend or the server.
        func settle() async {
            for (client, channel) in zip(clients, channels) {
                let isSettled = { channel.subscribed || client.isWaitingForNextTry }
                if !isSettled() { await world.runUntil(isSettled) }
            }
        }
        await settle()
        // After this time, the maximum of each wait has reached the cap of 30 s.
        for _ in 1...90 {
            await world.advance(by: .seconds(1))
            await settle()
        }
        #expect(channels.allSatisfy { !$0.subscribed })
        world.server.acceptAuthorizations()
        var (subscribed, largest) = (0, 0)
        for _ in 1...30 {
            await world.advance(by: .seconds(1))
            await settle()
            let now = channels.count { $0.subscribed }
            largest = max(largest, now - subscribed)
            subscribed = now
        }
        #expect(subscribed == count)
        // With uniform random waits, 65 of 1,000 clients try in the first second, and fewer in each later second.
        #expect(largest * 1_000 < count * 160, "\(largest)")
    }

    @Test("the client retries a refusal once if a header provider may return a fresh token")
    func freshToken() async throws {
        let tokens = Log<Int>()
        let endpoint = AuthEndpoint(VirtualWorld.authEndpoint) { _ in
            tokens.append(tokens.count + 1)
            return ["Authorization": "Bearer hush-\(tokens.count)"]
        }
        world.server.failAuthorizations(1, with: .status(401))
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: .endpoint(endpoint)))
        let channel = pusher.subscribe("private-orders")
        await world.runUntil { channel.subscribed }
        let sent = world.server.authorizationRequests.map { $0.header("Authorization") }
        #expect(sent == ["Bearer hush-1", "Bearer hush-2"])
    }

    @Test("the client reports an authorizer's answer of nil as an error (PusherSwift 367)")
    func nilAnswer() async throws {
        struct Nobody: Authorizer {
            func fetchAuthValue(
                socketID: String,
                channelName: String,
                completionHandler: @escaping @Sendable (PusherAuth?) -> Void
            ) { completionHandler(nil) }
        }
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: .authorizer(authorizer: Nobody())))
        pusher.delegate = delegate
        pusher.subscribe("private-orders")
        await world.runUntil { delegate.failures.count == 1 }
        let error = delegate.subscriptionErrors.elements.first
        #expect((error?.cause as? AuthorizationError)?.code == .authorizerFailed)
        #expect(delegate.failures.elements == ["private-orders"])
        // The app's code may fail for a reason that passes, so the client calls it again.
        #expect(pusher.isWaitingForNextTry)
    }

    @Test("an authorizer that never answers delays neither events nor other channels (PusherSwift)")
    func hangingAuthorizer() async throws {
        let hanging = AuthMethod.authorizer { request in
            guard request.channelName == "private-stuck" else { throw AuthorizationError(.refused, "no") }
            guard let auth = await FirstAnswer<PusherAuth>().value() else { throw CancellationError() }
            return auth
        }
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: hanging))
        let events = Log<String>()
        let orders = pusher.subscribe("orders")
        orders.bind(eventName: "created") { events.append($0.data ?? "") }
        let stuck = pusher.subscribe("private-stuck")
        let other = pusher.subscribe("private-other")
        await #expect(throws: SubscriptionError.self) { try await world.complete { try await other.subscribed() } }
        try world.server.publish(event: "created", data: "1", to: "orders")
        await world.run()
        #expect(events.elements == ["1"])
        await world.advance(by: .seconds(10))
        guard case .retrying(let error) = stuck.subscriptionStatus else {
            Issue.record("\(stuck.subscriptionStatus)")
            return
        }
        #expect((error.cause as? AuthorizationError)?.code == .timedOut)
    }

    @Test("a channel that is unsubscribed during its authorization stays unsubscribed (pusher-js)")
    func unsubscribeWhileAuthorizing() async throws {
        world.server.failAuthorizations(1, with: .delayed(.seconds(1)))
        let pusher = try await world.makeConnectedClient()
        pusher.subscribe("private-orders")
        await world.runUntil { world.server.authorizationRequests.count == 1 }
        pusher.unsubscribe("private-orders")
        await world.advance(by: .seconds(2))
        world.server.dropConnections()
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
        #expect(subscribes.isEmpty)
        #expect(pusher.connection.channels.channels.isEmpty)
    }

    @Test("the client uses an authorization from the app for one connection, and reports an error later (PusherSwift)")
    func ownAuthorization() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: .noMethod))
        let socketID = try #require(pusher.connection.socketId)
        let signed = world.server.authorization(forSocket: socketID, channel: "private-orders")
        let channel = pusher.subscribe("private-orders", auth: PusherAuth(auth: signed.auth))
        await world.runUntil { channel.subscribed }
        #expect(channel.auth == nil)
        world.server.dropConnections()
        let failures = Log<SubscriptionError?>()
        channel.bind(eventName: "pusher:subscription_error") { failures.append($0.subscriptionError) }
        await world.advance(by: .seconds(1))
        await world.runUntil { failures.count == 1 }
        #expect(failures.elements[0]?.message.contains("earlier connection") == true)
        let next = try #require(pusher.connection.socketId)
        channel.auth = PusherAuth(auth: world.server.authorization(forSocket: next, channel: "private-orders").auth)
        pusher.subscribe("private-orders")
        await world.runUntil { channel.subscribed }
    }

    @Test("the client uses the key in an authorization from the app (PusherSwift requests it)", .needsSodium)
    func ownKey() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: .noMethod))
        let name = "private-encrypted-orders"
        let socketID = try #require(pusher.connection.socketId)
        let signed = world.server.authorization(forSocket: socketID, channel: name)
        let channel = pusher.subscribe(name, auth: PusherAuth(auth: signed.auth, sharedSecret: signed.sharedSecret))
        try await world.complete { try await channel.subscribed() }
        let events = Log<String>()
        channel.bind(eventName: "created") { events.append($0.data ?? "") }
        try world.server.publish(event: "created", data: "tea", to: name)
        await world.run()
        #expect(events.elements == ["tea"])
    }

    @Test("an incomplete authorization from the app causes an error (PusherSwift logs a line)", .needsSodium)
    func ownIncomplete() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: .noMethod))
        pusher.delegate = delegate
        for name in ["presence-room", "private-encrypted-orders"] {
            pusher.subscribe(name, auth: PusherAuth(auth: "app-key:0"))
        }
        await world.run()
        #expect(delegate.subscriptionErrors.elements.map(\.code) == [.invalidAuthorization, .invalidAuthorization])
        #expect(subscribes.isEmpty)
    }

    @Test("a batching endpoint authorizes many channels with one request")
    func batch() async throws {
        let endpoint = AuthEndpoint(VirtualWorld.authEndpoint, isBatching: true)
        let pusher = world.makeClient(.virtual(authMethod: .endpoint(endpoint)))
        let channels = (1...40).map { pusher.subscribe("private-\($0)") }
        pusher.connect()
        await world.runUntil { channels.allSatisfy(\.subscribed) }
        #expect(world.server.authorizationRequests.count == 1)
    }

    @Test("the client repeats a failed batch as a batch")
    func batchAgain() async throws {
        let endpoint = AuthEndpoint(VirtualWorld.authEndpoint, isBatching: true)
        world.server.failAuthorizations(1, with: .status(503))
        let pusher = world.makeClient(.virtual(authMethod: .endpoint(endpoint)))
        let channels = (1...40).map { pusher.subscribe("private-\($0)") }
        pusher.connect()
        await world.runUntil { pusher.isWaitingForNextTry }
        await world.advance(by: .seconds(1))
        await world.runUntil { channels.allSatisfy(\.subscribed) }
        #expect(world.server.authorizationRequests.count == 2)
    }

    @Test("the options limit the number of requests at a time")
    func requestsAtOnce() async throws {
        let endpoint = AuthEndpoint(VirtualWorld.authEndpoint, isBatching: true, maximumBatchSize: 4)
        world.server.failAuthorizations(2, with: .delayed(.seconds(3)))
        let limits = PusherClientOptions.Limits(authorizationsAtOnce: 2)
        let pusher = world.makeClient(.virtual(authMethod: .endpoint(endpoint), limits: limits))
        let channels = (1...20).map { pusher.subscribe("private-\($0)") }
        pusher.connect()
        await world.runUntil { world.server.authorizationRequests.count == 2 }
        #expect(world.server.authorizationRequests.count == 2)
        await world.advance(by: .seconds(3))
        await world.runUntil { channels.allSatisfy(\.subscribed) }
        #expect(world.server.authorizationRequests.count == 5)
    }

    @Test("the timeout of an authorization begins with its own request, even with batches")
    func timeOfWaiting() async throws {
        let endpoint = AuthEndpoint(VirtualWorld.authEndpoint, isBatching: true)
        world.server.failAuthorizations(2, with: .delayed(.seconds(7)))
        let limits = PusherClientOptions.Limits(authorizationsAtOnce: 1)
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: .endpoint(endpoint), limits: limits))
        let first = pusher.subscribe("private-1")
        await world.runUntil { world.server.authorizationRequests.count == 1 }
        let others = (2...4).map { pusher.subscribe("private-\($0)") }
        await world.advance(by: .seconds(7))
        await world.runUntil { first.subscribed && world.server.authorizationRequests.count == 2 }
        // The batch request continues without the unsubscribed channel, so the new channel waits for the next request.
        pusher.unsubscribe("private-2")
        let last = pusher.subscribe("private-5")
        await world.advance(by: .seconds(7))
        await world.runUntil { others.dropFirst().allSatisfy(\.subscribed) && last.subscribed }
        #expect(world.server.authorizationRequests.count == 3)
        #expect(pusher.statistics.authorizations.tries == 5)
    }

    @Test("the app's error can call the client when the error is released")
    func errorThatCallsBack() async throws {
        let calls = Log<ConnectionState>()
        let client = Log<Pusher>()
        let method = AuthMethod.authorizer { _ in
            throw CallingError(
                onRelease: .init { for pusher in client.elements { calls.append(pusher.connection.connectionState) } }
            )
        }
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: method))
        client.append(pusher)
        defer { _ = client.take() }
        let channel = pusher.subscribe("private-orders")
        await world.runUntil { pusher.isWaitingForNextTry }
        #expect(calls.count == 0)
        _ = channel
        pusher.unsubscribe("private-orders")
        await world.runUntil { calls.count == 1 }
        #expect(calls.elements == [.connected])
    }

    @Test("the error for a wrong signature does not show the signature")
    func wrongSignature() async throws {
        let lines = LogLines()
        world.server.failAuthorizations(with: .wrongSignature)
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.trace)))
        let channel = pusher.subscribe("private-orders")
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(error?.code == .refused)
        let signature = try #require(subscribes.first?.split(separator: ":").last?.prefix(64))
        #expect(signature.count == 64)
        #expect(error?.message.hasPrefix("Invalid signature") == true)
        #expect(!"\(String(describing: error))".contains(signature))
        #expect(!lines.messages.contains { $0.contains(signature) })
    }
}

extension Pusher {
    /// Whether an authorization waits for its next try.
    fileprivate var isWaitingForNextTry: Bool {
        engine.read { state in
            let retries = state.machine.session?.retries ?? Retries()
            return retries.subjects.contains { retries[$0]?.phase == .waiting }
        }
    }
}

private struct CallingError: Error {
    final class OnRelease: Sendable {
        private let call: @Sendable () -> Void
        init(_ call: @escaping @Sendable () -> Void) { self.call = call }
        deinit { call() }
    }

    let onRelease: OnRelease
}
