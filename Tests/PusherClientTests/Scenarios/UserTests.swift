import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Users", .limited, .overEachTransport)
struct UserTests {
    let world = VirtualWorld()

    private func signIn(_ options: PusherClientOptions) async throws -> Pusher {
        let pusher = try await world.makeConnectedClient(options)
        try await world.complete { try await pusher.signedIn() }
        return pusher
    }

    @Test("a user signs in, and gets their own events")
    func signIn() async throws {
        let pusher = try await signIn(.virtual(user: "ada", info: #"{"name":"Ada"}"#))
        #expect(pusher.user.isSignedIn)
        #expect(pusher.user.userId == "ada")
        #expect(pusher.user.userData?.contains("Ada") == true)
        await world.run()
        let events = Log<String>()
        pusher.user.bind(eventName: "bill") { events.append($0.data ?? "") }
        var bills = pusher.user.events(named: "bill").makeAsyncIterator()
        try world.server.publish(event: "bill", data: "7", toUser: "ada")
        try world.server.publish(event: "bill", data: "8", toUser: "bob")
        await world.run()
        #expect(events.elements == ["7"])
        #expect(await bills.next()?.data == "7")
        #expect(pusher.connection.channels.channels.isEmpty)
    }

    @Test("an event that is sent to the user right after signedIn() arrives")
    func eventAfterSignIn() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        var bills = pusher.user.events(named: "bill").makeAsyncIterator()
        // The server's answers come one second apart.
        world.server.delayMessages(by: .seconds(1))
        let reached = Task {
            try await pusher.signedIn()
            return try world.server.publish(event: "bill", data: "7", toUser: "ada")
        }
        await world.runUntil { pusher.engine.read { $0.machine.signIn.isAwaitingServer } }
        await world.advance(by: .seconds(1))
        #expect(pusher.user.isSignedIn)
        #expect(pusher.engine.read { $0.waiters.count } == 1)
        await world.advance(by: .seconds(1))
        #expect(try await world.complete { try await reached.value } == 1)
        await world.advance(by: .seconds(1))
        #expect(await bills.next()?.data == "7")
    }

    @Test("signedIn() without connect() logs after 5 s that a connection is missing")
    func signedInWithoutConnecting() async throws {
        let lines = LogLines()
        let pusher = world.makeClient(.virtual(logger: lines.logger(.warning)))
        let waiting = Task { try await pusher.signedIn() }
        await world.runUntil { pusher.engine.read { !$0.waiters.isEmpty } }
        await world.advance(by: .seconds(5))
        #expect(lines.messages.count { $0.contains("signedIn() has waited for 5 s") } == 1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await world.complete { try await waiting.value } }
    }

    /// A source of the elements of a loop.
    enum LoopSource: String, CaseIterable, CustomTestStringConvertible, Sendable {
        case channelEvents, namedEvents, decodedEvents, clientEvents, userEvents, watchlistEvents, memberships
        case resubscriptions

        var testDescription: String { rawValue }

        /// Begins a loop, and returns it with a closure that counts the waiting iterators.
        func loop(over pusher: Pusher) -> (Task<Void, Never>, @Sendable () -> Int) {
            switch self {
            case .channelEvents: loop(over: pusher.subscribe("news").events)
            case .namedEvents: loop(over: pusher.subscribe("news").events(named: "e"))
            case .decodedEvents: loop(over: pusher.subscribe("news").events(named: "e", as: Int.self).base)
            case .clientEvents: loop(over: pusher.events)
            case .userEvents: loop(over: pusher.user.events)
            case .watchlistEvents: loop(over: pusher.user.watchlist.events)
            case .memberships: loop(over: pusher.subscribeToPresenceChannel(channelName: "presence-news").memberships)
            case .resubscriptions: loop(over: pusher.subscribe("news").resubscriptions)
            }
        }

        private func loop<Element>(over events: EventSequence<Element>) -> (Task<Void, Never>, @Sendable () -> Int) {
            (Task { for await _ in events {} }, { [buffer = events.buffer] in buffer.waitingCount })
        }
    }

    @Test(
        "a loop over events of any kind without connect() logs after 5 s that a connection is missing",
        arguments: LoopSource.allCases
    )
    func loopWithoutConnecting(source: LoopSource) async throws {
        let lines = LogLines()
        let pusher = world.makeClient(.virtual(logger: lines.logger(.warning)))
        let (waiting, waitingCount) = source.loop(over: pusher)
        await world.runUntil { waitingCount() == 1 }
        await world.advance(by: .seconds(5))
        #expect(lines.messages.count { $0.contains("A loop over events has waited for 5 s") } == 1)
        waiting.cancel()
        try await world.complete { await waiting.value }
    }

    @Test("a loop over events logs nothing if the app connects within 5 s, or if the loop has ended")
    func loopWithConnection() async throws {
        let lines = LogLines()
        let options = PusherClientOptions.virtual(logger: lines.logger(.warning))
        let (pusher, other) = (world.makeClient(options), world.makeClient(options))
        let loops = [pusher.events, other.subscribe("news").events].map { events in
            (events, Task { for await _ in events {} })
        }
        await world.runUntil { loops.allSatisfy { $0.0.buffer.waitingCount == 1 } }
        pusher.connect()
        loops[1].1.cancel()
        try await world.complete { await loops[1].1.value }
        await world.advance(by: .seconds(6))
        #expect(lines.messages.isEmpty, "\(lines.messages)")
        loops[0].1.cancel()
        try await world.complete { await loops[0].1.value }
    }

    @Test("the answer of the endpoint to a failed sign-in is in the debug log")
    func loggedAnswer() async throws {
        let lines = LogLines()
        let token = String(repeating: "0f", count: 32)
        world.server.failUserAuthentications(1, with: .status(403, body: "no such user \(token)"))
        let options = PusherClientOptions.virtual(user: "ada")
        options.logger = lines.logger(.debug)
        let pusher = try await world.makeConnectedClient(options)
        await #expect(throws: PusherClientError.self) {
            try await world.complete { try await pusher.signedIn() }
        }
        #expect(lines.messages.contains { $0.contains("the answer for the sign-in was: no such user (hidden)") })
        #expect(!lines.messages.contains { $0.contains("was:") && $0.contains(token) })
    }

    @Test("the sign-in waits for the first connection, and the client repeats the sign-in on every later connection")
    func again() async throws {
        let pusher = world.makeClient(.virtual(user: "ada"))
        pusher.signIn()
        #expect(!pusher.user.isSignedIn)
        pusher.connect()
        await world.runUntil { pusher.user.isSignedIn }
        world.server.dropConnections()
        await world.run()
        #expect(!pusher.user.isSignedIn)
        await world.advance(by: .seconds(1))
        await world.runUntil { pusher.user.isSignedIn }
    }

    @Test("the error of signedIn() without a userAuthMethod says what to do")
    func noMethod() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let events = Log<String>()
        pusher.user.bind(eventName: "pusher:signin_error") { events.append($0.data ?? "") }
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await pusher.signedIn() }
        }
        #expect(error?.code == .signInFailed)
        #expect(error?.message.contains("userAuthMethod") == true)
        #expect(events.count == 1)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.signInFailed])
    }

    @Test("signedIn() fails if the backend or the server refuses the user")
    func refused() async throws {
        world.server.failUserAuthentications(1, with: .status(403, body: "who?"))
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        let refused = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await pusher.signedIn() }
        }
        #expect((refused?.cause as? AuthorizationError)?.httpStatus == 403)
        world.server.failUserAuthentications(1, with: .wrongSignature)
        let rejected = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await pusher.signedIn() }
        }
        #expect(rejected?.code == .signInFailed)
        try await world.complete { try await pusher.signedIn() }
        #expect(pusher.user.isSignedIn)
    }

    @Test("the client signs in again if the server does not answer for 10 s, and signedIn() continues to wait")
    func timeout() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        let errors = Log<PusherClientError.Code>()
        pusher.user.bind(eventName: "pusher:signin_error") { _ in errors.append(.signInTimedOut) }
        world.server.goSilent()
        let waiting = Task { try await pusher.signedIn() }
        await world.runUntil { pusher.engine.read { $0.machine.signIn.isAwaitingServer } }
        await world.advance(by: .seconds(10))
        #expect(errors.elements == [.signInTimedOut])
        world.server.speakAgain()
        await world.advance(by: .seconds(1))
        let user = try await world.complete { try await waiting.value }
        #expect(user.userId == "ada")
        #expect(pusher.statistics.signIns.failed == 1 && pusher.statistics.signIns.retried == 1)
    }

    @Test("the watchlist reports which users are online or offline, and later changes")
    func watchlist() async throws {
        let bob = try await signIn(.virtual(user: "bob"))
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada", watchlist: #"["bob","eve"]"#))
        let told = Log<String>()
        pusher.user.watchlist.bind(eventName: "online") { told.append("+" + $0.userIds.joined(separator: ",")) }
        pusher.user.watchlist.bind(eventName: "offline") { told.append("-" + $0.userIds.joined(separator: ",")) }
        var changes = pusher.user.watchlist.events.makeAsyncIterator()
        try await world.complete { try await pusher.signedIn() }
        await world.runUntil { told.count == 2 }
        #expect(pusher.user.watchlist.online == ["bob"])
        #expect(told.take().sorted() == ["+bob", "-eve"])
        bob.disconnect()
        await world.letServerNotice()
        await world.runUntil { told.count == 1 }
        #expect(pusher.user.watchlist.online.isEmpty)
        #expect(told.elements == ["-bob"])
        #expect(await changes.next() != nil)
        world.server.dropConnections()
        await world.run()
        #expect(pusher.user.watchlist.online.isEmpty)
    }

    @Test("a presence channel whose authorization names no user waits for the sign-in")
    func presenceThroughSignIn() async throws {
        let server = world.server
        let method = AuthMethod.authorizer { request in
            let signed = server.authorization(forSocket: request.socketID, channel: request.channelName)
            return PusherAuth(auth: signed.auth)
        }
        var options = AuthEndpoint(VirtualWorld.userEndpoint)
        options.parameters = ["user_id": "ada", "user_info": #"{"age":36}"#]
        let pusher = world.makeClient(.virtual(authMethod: method, userAuthMethod: .endpoint(options)))
        let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
        world.server.failUserAuthentications(1, with: .delayed(.seconds(1)))
        pusher.signIn()
        pusher.connect()
        await world.runUntil { pusher.authorizing == [.user] && server.authorizationRequests.count == 1 }
        guard case .awaitingSignIn? = channel.subscription?.phase else { return #expect(Bool(false)) }
        await world.advance(by: .seconds(1))
        await world.runUntil { pusher.user.isSignedIn && pusher.authorizing.isEmpty }
        #expect(channel.subscribed)
        #expect(channel.myId == "ada")
        #expect(channel.members.map(\.userId) == ["ada"])
        let other = try await world.makeConnectedClient(.virtual(authMethod: method))
        let refused = other.subscribe("presence-room")
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await refused.subscribed() }
        }
        #expect(error?.code == .invalidAuthorization)
        #expect(error?.message.contains("channel_data") == true)
        // The client subscribes again by itself if the user signs in after the channel has failed.
        let late = world.makeClient(.virtual(authMethod: method, userAuthMethod: .endpoint(options)))
        let room = late.subscribeToPresenceChannel(channelName: "presence-room")
        late.connect()
        await world.run()
        await world.runUntil { late.authorizing.isEmpty }
        guard case .failed? = room.subscription?.phase else { return #expect(Bool(false)) }
        late.signIn()
        await world.runUntil { late.user.isSignedIn && late.authorizing.isEmpty }
        #expect(room.subscribed)
    }

    @Test("a client disconnects, and does not reconnect, if the server terminates its user's connections")
    func terminated() async throws {
        let pusher = try await signIn(.virtual(user: "ada"))
        var errors = pusher.errors.makeAsyncIterator()
        world.server.terminateConnections(ofUser: "ada")
        await world.run()
        #expect(await errors.next()?.serverCode == 4009)
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(!pusher.user.isSignedIn)
    }
}

extension Pusher {
    /// The channels and the user that are being authorized.
    fileprivate var authorizing: [AuthorizationQuestion.Subject] {
        engine.read { $0.machine.authorizations.jobs.values.map(\.question.subject) }
    }
}
