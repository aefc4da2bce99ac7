import PusherTestServer
import TestSupport

/// A generator that makes a script from a seed.
///
/// Each script has only some kinds of actions, with different frequencies. With equal frequencies, several actions of
/// the same kind would hardly ever follow each other.
struct ScriptWriter {
    static let channels = [
        "news", "cache-news", "private-room", "private-cache-room", "presence-room", "presence-cache-room",
        "private-encrypted-room", "private-encrypted-cache-room",
    ]
    static let events = ["first", "second"]

    private(set) var settings: Settings
    var generator: SeededGenerator
    /// Separate generators, so that the random choices for HTTP and countdowns do not change the other actions of a
    /// script.
    var httpGenerator: SeededGenerator
    var countdownGenerator: SeededGenerator
    private var weights: [(Kind, Int)] = []
    private(set) var channels: [String] = []

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        httpGenerator = SeededGenerator(seed: seed ^ 0x477)
        countdownGenerator = SeededGenerator(seed: seed ^ 0xC0D)
        settings = Settings(seed: seed)
        settings.dialect = Int.random(in: 0..<Settings.dialects.count, using: &generator)
        settings.useTLS = generator.oneIn(4)
        settings.autoReconnect = !generator.oneIn(10)
        settings.retryPolicy = draw([.default, .default, .fixed(milliseconds: 500), .limited(attempts: 4)])
        settings.activityTimeout = draw([nil, 5, 30])
        settings.serverPingInterval = draw([nil, nil, 20])
        settings.authorization = draw(Settings.Authorization.allCases)
        settings.authorizationsAtOnce = draw([1, 2, 16])
        settings.heldEncryptedEvents = draw([2, 1_000])
        settings.countsSubscriptions = generator.oneIn(4)
        if generator.oneIn(5) {
            settings.messageLimit = draw([.perSecond(3), .perSecond(10), .perMinute(20), .droppingPerSecond(6)])
            if case .droppingPerSecond = settings.messageLimit {
                // The client must reconnect after the server has dropped a connection because of the limit.
                settings.autoReconnect = true
                settings.retryPolicy = .fixed(milliseconds: 500)
            }
        }
        channels = Self.channels.filter { _ in !generator.oneIn(3) }
        if channels.isEmpty { channels = ["news"] }
        for kind in Kind.allCases where !kind.isOfHTTP {
            let weight = kind.isCommon ? draw([4, 8, 16]) : draw([0, 0, 1, 1, 2, 4])
            if weight > 0 { weights.append((kind, weight)) }
        }
        drawTransports()
    }

    /// Most scripts have WebSockets only.
    private mutating func drawTransports() {
        settings.transports = drawForHTTP([
            .webSocket, .webSocket, .webSocket, .webSocket, .webSocket, .webSocket, .webSocket, .webSocket, .webSocket,
            .httpStreaming, .httpStreaming, .httpPolling, .httpPolling, .webSocketWithHTTPFallback,
            .webSocketWithHTTPFallback,
        ])
        guard settings.transports != .webSocket else { return }
        settings.upgradeFault = drawForHTTP(Self.upgradeFaults)
        settings.streamLength = drawForHTTP([1_000, 3_000, 10_000, 256 * 1_024])
        settings.serverStopsStreams = !httpGenerator.oneIn(3)
        // A server that does not stop its streams may drop a connection during a handover. The client must then
        // reconnect.
        if case .limited = settings.retryPolicy { settings.serverStopsStreams = true }
        if !settings.autoReconnect { settings.serverStopsStreams = true }
        // The prelude alone must not reach the limit on the length of a stream.
        settings.sendsPrelude = httpGenerator.oneIn(6) && settings.streamLength > 3_000
        settings.secondPoll = drawForHTTP([.refused, .takesOver])
        weights.append((.transports, drawForHTTP([2, 4, 8, 16])))
        if settings.transports == .webSocketWithHTTPFallback { weights.append((.upgrades, drawForHTTP([2, 4]))) }
    }

    private mutating func drawForHTTP<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &httpGenerator)]
    }

    private static let upgradeFaults: [PusherTestRelay.UpgradeFault] = [
        .swallowed, .answered(status: 400), .answered(status: 426), .reset,
    ]

    /// Writes the actions of a script.
    mutating func write(count: Int) -> [PlannedAction] {
        var actions = [PlannedAction(.connect)]
        while actions.count < count {
            let action = action(drawKind())
            // A closing handshake is soon over, so the next action often comes at once.
            let isHasty = action == .disconnect ? !generator.oneIn(3) : generator.oneIn(4)
            let isOnLoop = action.isCall && generator.oneIn(4)
            actions.append(PlannedAction(action, isOnLoop: isOnLoop, settles: !isHasty))
            if hurriesOn(after: action) { actions[actions.count - 1].settles = false }
            actions += sequel(of: action, isHurried: !actions[actions.count - 1].settles)
        }
        if count > 0 { insertRareActions(into: &actions) }
        return actions
    }

    // MARK: Kinds

    enum Kind: CaseIterable {
        case connecting, subscribing, unsubscribing, binding, unbinding, sending, signingIn, waiting, pushing, dropping
        case reacting, publishing, passing
        case conditions, connectionFaults, losses, requestFaults
        case closing, errors, restarts, keys, authorizationFaults, subscriptionFaults, serverFaults, silence, pings
        case idleLimits
        case nonsense, members, suspending
        case transports, upgrades

        /// Whether only scripts with HTTP have actions of this kind.
        var isOfHTTP: Bool { self == .transports || self == .upgrades }

        /// Whether most scripts need actions of this kind, because little happens without such actions.
        var isCommon: Bool { self == .subscribing || self == .passing || self == .publishing || self == .binding }
    }

    private mutating func drawKind() -> Kind {
        var number = Int.random(in: 0..<weights.reduce(0) { $0 + $1.1 }, using: &generator)
        for (kind, weight) in weights {
            number -= weight
            if number < 0 { return kind }
        }
        return .passing
    }

    mutating func action(_ kind: Kind) -> Action {
        switch kind {
        case .connecting: draw([.connect, .connect, .disconnect])
        case .subscribing: draw([.subscribe(channel()), .subscribe(channel()), .resubscribe(channel())])
        case .unsubscribing: generator.oneIn(8) ? .unsubscribeAll : .unsubscribe(channel())
        case .binding:
            draw([
                .bind(channel(), event: event()), .bindToAll(event: event()), .read(channel(), event: event()),
            ])
        case .unbinding: draw([.unbind(number()), .stopReading(number())])
        case .sending: draw([.trigger(channel()), .send(channel())])
        case .signingIn: generator.oneIn(4) ? .signOut : .signIn
        case .waiting: waiting()
        case .pushing: draw([.checkConnection, .reconnectNow, .switchEndpoint])
        case .dropping: generator.oneIn(4) ? .dropClient : .disconnect
        case .reacting: .bindReacting(channel(), reaction())
        case .publishing: .publish(channel(), event: draw(Self.events))
        case .passing: .advance(milliseconds: draw([10, 100, 1_000, 1_000, 5_000, 20_000, 60_000]))
        case .conditions, .connectionFaults, .losses, .requestFaults, .upgrades: networkAction(kind)
        default: serverAction(kind)
        }
    }

    private mutating func waiting() -> Action {
        draw([
            .await(.connected), .await(.disconnected), .await(.subscribed(channel())), .await(.signedIn),
            .await(.scope("private-scope")), .await(.scope("scope")), .cancel(number()), .cancel(number()),
        ])
    }

    private mutating func reaction() -> Action.Reaction {
        draw([
            .unbindItself, .unsubscribe(channel()), .subscribe(channel()), .resubscribe(channel()), .disconnect,
            .connect, .reconnect, .trigger(channel()), .unsubscribeAll,
        ])
    }

    private mutating func networkAction(_ kind: Kind) -> Action {
        switch kind {
        case .conditions:
            draw([
                .latency(milliseconds: 0...0), .latency(milliseconds: 10...50), .latency(milliseconds: 0...3_000),
                .cutIntoPieces(upTo: nil), .cutIntoPieces(upTo: 1), .cutIntoPieces(upTo: 60), .fragment(upTo: 1),
                .fragment(upTo: 4), .slowWrites(milliseconds: draw([0, 0, 100, 5_000])),
            ])
        case .connectionFaults:
            .nextConnections(
                draw([
                    .slow(milliseconds: 3_000), .slow(milliseconds: 20_000), .refused, .unresolvable, .untrusted,
                    .rejected(status: 503), .rejected(status: 404), .silent,
                ]),
                count: draw([1, 1, 2, 5])
            )
        case .losses:
            draw([
                .cut(heardAfter: 0), .cut(heardAfter: 2_000), .goDeaf(toClient: true, toServer: true),
                .goDeaf(toClient: true, toServer: false), .goDeaf(toClient: false, toServer: true),
            ])
        case .upgrades: .blockUpgrades(generator.oneIn(4) ? nil : draw(Self.upgradeFaults))
        default: .failRequests(generator.oneIn(2))
        }
    }

    // MARK: Choices

    mutating func draw<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &generator)]
    }

    mutating func channel() -> String { draw(channels) }
    private mutating func event() -> String? { draw([nil, "first", "second"]) }
    private mutating func number() -> Int { Int.random(in: 0..<1_000, using: &generator) }
}

extension Action {
    /// Whether the action can be made both on the event loop and on another thread.
    fileprivate var isCall: Bool {
        switch self {
        case .advance, .fallAsleep, .wake: false
        default: true
        }
    }
}

/// Writes the server's actions.
extension ScriptWriter {
    private mutating func serverAction(_ kind: Kind) -> Action {
        switch kind {
        case .closing: .close(code: closeCode())
        case .errors: .error(code: draw([nil, closeCode(), 4301]), message: draw(["no", "no \(channel())"]))
        case .restarts: draw([.restart(refusing: draw([0, 1, 3])), .dropConnections])
        case .keys:
            draw([
                .rotateKey, .rotateKey, .publishUnreadable(encryptedChannel()), .publishWithOldKey(encryptedChannel()),
                .publishWithOldKey(encryptedChannel()), .publish(encryptedChannel(), event: "first"),
            ])
        case .authorizationFaults: draw([authorizationFault(), authorizationFault(), signInFault()])
        case .subscriptionFaults: .failSubscriptions(channel(), subscriptionFault())
        case .serverFaults: .failConnections(connectionFault(), count: draw([1, 1, 3, 200]))
        case .silence:
            draw([.goSilent, .speakAgain, .speakAgain, .delayMessages(milliseconds: draw([0, 0, 500, 8_000]))])
        case .pings: draw([.ping, .webSocketPing, .announceActivityTimeout(seconds: draw([nil, 1, 10, 120]))])
        case .idleLimits:
            .limitIdleTime(seconds: draw([nil, 2, 3, 10, 30, 120]), closes: generator.oneIn(2))
        case .nonsense: nonsense()
        case .members:
            draw([
                .memberJoins(presenceChannel()), .memberLeaves(presenceChannel()), .memberSpeaks(presenceChannel()),
                .publishToUser, .publishToUser, .terminateUser,
            ])
        case .suspending:
            draw([.suspend(seconds: draw([1, 30, 300, 4_000])), .fallAsleep(isSuspended: generator.oneIn(2))])
        case .transports: transportAction()
        default: .forgetCache
        }
    }

    private mutating func transportAction() -> Action {
        let fault: PusherTestServer.TransportRequestFault = draw([
            .status(404), .status(503), .dropped, .unanswered, .delayed(.milliseconds(300)), .delayed(.seconds(8)),
            .answerLost, .duplicated,
        ])
        let requests: PusherTestServer.TransportRequests = draw([.all, .receiving, .sending, .sending])
        return draw([
            .failTransportRequests(requests, fault, count: draw([1, 1, 3])),
            .endStreams(cleanly: generator.oneIn(2)), .loseSessions(draw([.newSession, .notFound])),
            .bufferStreams(until: draw([nil, nil, 300, 4_000, 1 << 20])),
        ])
    }

    private mutating func closeCode() -> Int? {
        draw([
            nil, 1000, 1001, 1006, 1011, Int.random(in: 1000...1015, using: &generator),
            Int.random(in: 3000...3999, using: &generator), Int.random(in: 4000...4399, using: &generator),
            Int.random(in: 4400...4999, using: &generator), 4200, 4201, 4100, 4009,
        ])
    }

    mutating func encryptedChannel() -> String {
        draw(["private-encrypted-room", "private-encrypted-cache-room"])
    }

    private mutating func presenceChannel() -> String { draw(["presence-room", "presence-cache-room"]) }

    private mutating func fault() -> PusherTestServer.AuthorizationFault {
        draw([
            .status(403), .status(503), .status(429, headers: ["Retry-After": "3"]), .body("no"),
            .body(#"{"auth":7}"#),
            // This authorization lacks the members for presence and encrypted channels.
            .body(#"{"auth":"app-key:00"}"#), .delayed(.seconds(3)), .delayed(.seconds(12)), .unanswered, .dropped,
            .wrongSignature, .wrongSharedSecret,
        ])
    }

    // With the high count, the backend stays down until the faults end.
    private mutating func authorizationFault() -> Action {
        .failAuthorizations(fault(), count: draw([1, 1, 4, 1_000]))
    }

    private mutating func signInFault() -> Action { .failSignIns(fault(), count: draw([1, 1, 4, 1_000])) }

    private mutating func subscriptionFault() -> PusherTestServer.SubscriptionFault? {
        draw([
            nil, nil, .unanswered, .error(code: nil, message: "no"), .error(code: 4009, message: "no \(channel())"),
            .error(code: 4009, message: "no"),
            .subscriptionError(message: "no"), .subscriptionError(message: "later", status: 503),
        ])
    }

    private mutating func connectionFault() -> PusherTestServer.ConnectionFault {
        draw([
            .refused(status: 503), .stalled, .dropped, .silent, .closed(code: closeCode()),
            .closedAfterHandshake(code: closeCode()), .error(code: closeCode(), message: "no"), .firstMessage("{}"),
        ])
    }

    private mutating func nonsense() -> Action {
        let name = channel()
        return draw([
            .say("nonsense"), .say("{}"), .say(#"{"event":7}"#), .sayBinary, .sayBytes([0xFF, 0xFF]),
            .say(#"{"event":"pusher_internal:member_added","channel":"\#(name)","data":"{\"user_id\":\"ghost\"}"}"#),
            .say(#"{"event":"pusher_internal:member_removed","channel":"\#(name)","data":"{\"user_id\":\"me\"}"}"#),
            .say(#"{"event":"pusher_internal:subscription_succeeded","channel":"\#(name)","data":"{}"}"#),
            .say(#"{"event":"pusher:subscription_error","channel":"\#(name)","data":{"status":500}}"#),
            .say(#"{"event":"pusher:connection_established","data":"{\"socket_id\":\"9.9\"}"}"#),
            .say(#"{"event":"pusher:signin_success","data":"{\"user_data\":\"{\\\"id\\\":\\\"me\\\"}\"}"}"#),
            .say(#"{"event":"pusher:pong","data":"{}"}"#), .forgetCache,
        ])
    }
}
