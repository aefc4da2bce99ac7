import PusherProtocol
import TestTraits
import Testing

@testable import PusherClient

@Suite("The choice of a transport", .limited)
struct TransportChoiceTests {
    private static let all: [PusherTransport] = [.webSocket, .httpStreaming, .httpPolling]
    private static let noTimers = ["no next", "no moment"]

    /// An attempt, and a short transcript of its actions.
    private struct Attempt {
        var choice: TransportChoice
        var now = Instant()
        private(set) var report: TransportReport?
        private(set) var closure: TransportClosure?

        init(_ transports: [PusherTransport] = all, remembered: (PusherTransport, Duration)? = nil) {
            choice = TransportChoice(
                .init(transports, remembered: remembered.map { .init($0.0, timeout: $0.1) }),
                attemptTimeout: .seconds(15)
            )
        }

        mutating func after(
            _ time: Duration = .zero,
            _ input: (inout TransportChoice, Instant) -> [TransportChoice.Action]
        )
            -> [String]
        {
            now += time
            let actions = input(&choice, now)
            for case .choose(_, let report, _) in actions { self.report = report }
            for case .fail(let closure) in actions { self.closure = closure }
            return actions.map(describe)
        }

        private func describe(_ action: TransportChoice.Action) -> String {
            switch action {
            case .open(let number, let transport): "open \(number) \(transport.rawValue)"
            case .abort(let number): "abort \(number)"
            case .hold(let number): "hold \(number)"
            case .setTimer(let timer, let delay): "\(timer) in \(delay / .milliseconds(1))"
            case .cancelTimer(let timer): "no \(timer)"
            case .choose(let number, _, let success):
                "choose \(number) \(success.transport.rawValue) \(success.latency / .milliseconds(1))"
            case .forget: "forget"
            case .fail(let closure): "fail \(closure.code?.rawValue ?? closure.error?.serverCode ?? 0)"
            }
        }
    }

    private static func failure(_ code: PusherClientError.Code = .upgradeFailed, _ message: String = "HTTP 426")
        -> TransportClosure
    {
        TransportClosure(code: nil, error: PusherClientError(code, message))
    }

    @Test("no other transport starts if the WebSocket connects in time")
    func webSocket() {
        var attempt = Attempt()
        #expect(attempt.after { $0.start(now: $1) } == ["open 1 webSocket", "next in 2000.0"])
        #expect(attempt.after(.milliseconds(40)) { choice, _ in choice.opened(1) } == [])
        #expect(
            attempt.after(.milliseconds(10)) { $0.ready(1, now: $1) }
                == Self.noTimers + ["choose 1 webSocket 50.0"]
        )
        #expect(attempt.report == TransportReport(.webSocket))
        #expect(attempt.after { $0.timerFired(.next, now: $1) } == [])
    }

    @Test("streaming starts beside a slow WebSocket after 2 s, and polling starts 4 s later")
    func parallel() {
        var attempt = Attempt()
        _ = attempt.after { $0.start(now: $1) }
        #expect(
            attempt.after(.seconds(2)) { $0.timerFired(.next, now: $1) } == ["open 2 httpStreaming", "next in 4000.0"]
        )
        #expect(attempt.after(.seconds(4)) { $0.timerFired(.next, now: $1) } == ["open 3 httpPolling"])
        _ = attempt.after { choice, _ in choice.opened(3) }
        #expect(
            attempt.after(.milliseconds(100)) { $0.ready(3, now: $1) }
                == ["abort 1", "abort 2"] + Self.noTimers + ["choose 3 httpPolling 100.0"]
        )
        #expect(attempt.report?.transport == .httpPolling)
        #expect(
            attempt.report?.unused.mapValues(\.code) == [
                .webSocket: .connectionTimedOut, .httpStreaming: .connectionTimedOut,
            ]
        )
        #expect(attempt.report?.unused[.webSocket]?.message.contains("WebSocket within 6.1 s") == true)
    }

    @Test("each transport gets at most a third of a short time limit, even a remembered one", arguments: [true, false])
    func shortTimeLimit(isRemembered: Bool) {
        var plan = TransportMemory.Plan(Self.all)
        if isRemembered { plan.remembered = .init(.webSocket, timeout: .seconds(3)) }
        var choice = TransportChoice(plan, attemptTimeout: .seconds(3))
        #expect(choice.start(now: Instant()) == [.open(1, .webSocket), .setTimer(.next, after: .seconds(1))])
        let next = choice.timerFired(.next, now: Instant(after: .seconds(1)))
        #expect(next.suffix(2) == [.open(2, .httpStreaming), .setTimer(.next, after: .seconds(1))])
        #expect(next.contains(.forget) == isRemembered)
    }

    @Test("the client uses a late WebSocket if it connects before HTTP")
    func lateWebSocket() {
        var attempt = Attempt()
        _ = attempt.after { $0.start(now: $1) }
        _ = attempt.after(.seconds(2)) { $0.timerFired(.next, now: $1) }
        _ = attempt.after { choice, _ in choice.opened(2) }
        _ = attempt.after { choice, _ in choice.opened(1) }
        #expect(
            attempt.after { $0.ready(1, now: $1) }
                == ["abort 2"] + Self.noTimers + ["choose 1 webSocket 2000.0"]
        )
    }

    @Test("an open WebSocket gets half a second for its greeting after the greeting over HTTP")
    func moment() {
        var preferred = Attempt()
        _ = preferred.after { $0.start(now: $1) }
        _ = preferred.after(.seconds(2)) { $0.timerFired(.next, now: $1) }
        _ = preferred.after { choice, _ in choice.opened(1) + choice.opened(2) }
        #expect(preferred.after { $0.ready(2, now: $1) } == ["hold 2", "moment in 500.0"])
        var silent = preferred
        var lost = preferred
        #expect(
            preferred.after(.milliseconds(100)) { $0.ready(1, now: $1) }
                == ["abort 2"] + Self.noTimers + ["choose 1 webSocket 2100.0"]
        )
        #expect(
            silent.after(.milliseconds(500)) { $0.timerFired(.moment, now: $1) }
                == ["abort 1"] + Self.noTimers + ["choose 2 httpStreaming 500.0"]
        )
        #expect(
            lost.after { $0.closed(1, Self.failure(), now: $1) }
                == Self.noTimers + ["choose 2 httpStreaming 0.0"]
        )
        #expect(lost.report?.unused[.webSocket]?.code == .upgradeFailed)
    }

    @Test("a candidate that closes after its first message is chosen, because the message may be a refusal")
    func closedAfterMessage() {
        for code in [nil, 4001] as [CloseCode?] {
            var attempt = Attempt()
            _ = attempt.after { $0.start(now: $1) }
            _ = attempt.after(.seconds(2)) { $0.timerFired(.next, now: $1) }
            _ = attempt.after { choice, _ in choice.opened(1) + choice.opened(2) }
            _ = attempt.after { $0.ready(2, now: $1) }
            #expect(
                attempt.after { $0.closed(2, TransportClosure(code: code), now: $1) }
                    == ["abort 1"] + Self.noTimers + ["choose 2 httpStreaming 0.0"]
            )
        }
    }

    @Test("a candidate that closes after its first message does not replace another candidate with a message")
    func closedBesideMessage() {
        var attempt = Attempt()
        _ = attempt.after { $0.start(now: $1) }
        for _ in 1...2 { _ = attempt.after { $0.timerFired(.next, now: $1) } }
        _ = attempt.after { choice, _ in choice.opened(1) + choice.opened(2) + choice.opened(3) }
        _ = attempt.after { $0.ready(2, now: $1) + $0.ready(3, now: $1) }
        #expect(attempt.after { $0.closed(2, Self.failure(), now: $1) } == [])
        #expect(
            attempt.after { $0.timerFired(.moment, now: $1) }
                == ["abort 1"] + Self.noTimers + ["choose 3 httpPolling 0.0"]
        )
    }

    @Test("a candidate with a message does not wait for worse candidates, or for candidates that are not open")
    func worseCandidates() {
        var attempt = Attempt()
        _ = attempt.after { $0.start(now: $1) }
        _ = attempt.after { $0.timerFired(.next, now: $1) }
        _ = attempt.after { $0.timerFired(.next, now: $1) }
        _ = attempt.after { choice, _ in choice.opened(1) + choice.opened(2) + choice.opened(3) }
        #expect(attempt.after { $0.ready(2, now: $1) } == ["hold 2", "moment in 500.0"])
        #expect(
            attempt.after { $0.closed(1, Self.failure(), now: $1) }
                == ["abort 3"] + Self.noTimers + ["choose 2 httpStreaming 0.0"]
        )
    }

    @Test("the next transport starts at once when a transport has failed")
    func failedUpgrade() {
        var attempt = Attempt()
        _ = attempt.after { $0.start(now: $1) }
        #expect(
            attempt.after { $0.closed(1, Self.failure(), now: $1) }
                == ["no next", "open 2 httpStreaming", "next in 4000.0"]
        )
        #expect(attempt.after { $0.closed(2, Self.failure(), now: $1) } == ["no next", "open 3 httpPolling"])
        #expect(
            attempt.after { $0.closed(3, Self.failure(.connectionFailed, "refused"), now: $1) } == Self.noTimers + [
                "fail 0"
            ]
        )
        #expect(attempt.closure?.error?.code == .upgradeFailed)
        #expect(attempt.closure?.error?.message == "HTTP 426 By HTTP streaming: HTTP 426 By HTTP polling: refused")
    }

    @Test("the server's errors about the app apply to all transports", arguments: [4000, 4001, 4100, 4200, 4301])
    func applicationCodes(code: Int) {
        for number in 1...2 {
            var attempt = Attempt()
            _ = attempt.after { $0.start(now: $1) }
            _ = attempt.after(.seconds(2)) { $0.timerFired(.next, now: $1) }
            let closure = TransportClosure(code: CloseCode(rawValue: code), reason: "no")
            #expect(
                attempt.after { $0.closed(number, closure, now: $1) } == ["abort \(3 - number)"] + Self.noTimers + [
                    "fail \(code)"
                ]
            )
            #expect(attempt.closure == closure)
        }
    }

    @Test("the client tries a remembered transport alone until its timeout, and then together with the others")
    func remembered() {
        var attempt = Attempt(remembered: (.webSocket, .milliseconds(1_100)))
        #expect(attempt.after { $0.start(now: $1) } == ["open 1 webSocket", "next in 1100.0"])
        #expect(
            attempt.after(.milliseconds(1_100)) { $0.timerFired(.next, now: $1) }
                == ["forget", "open 2 httpStreaming", "next in 4000.0"]
        )
        #expect(
            attempt.after { $0.ready(1, now: $1) }
                == ["abort 2"] + Self.noTimers + ["choose 1 webSocket 1100.0"]
        )
        var streaming = Attempt(remembered: (.httpStreaming, .seconds(3)))
        #expect(streaming.after { $0.start(now: $1) } == ["open 1 httpStreaming", "next in 3000.0"])
        #expect(
            streaming.after(.seconds(3)) { $0.timerFired(.next, now: $1) }
                == ["forget", "open 2 webSocket", "next in 2000.0"]
        )
        var late = streaming
        #expect(
            streaming.after(.milliseconds(100)) { $0.ready(1, now: $1) }
                == ["abort 2"] + Self.noTimers + ["choose 1 httpStreaming 3100.0"]
        )
        #expect(late.after(.seconds(2)) { $0.timerFired(.next, now: $1) } == ["open 3 httpPolling"])
        #expect(
            late.after { $0.ready(2, now: $1) }
                == ["abort 1", "abort 3"] + Self.noTimers + ["choose 2 webSocket 2000.0"]
        )
    }

    @Test("if a remembered transport fails, the client does not try it again in the same attempt", arguments: all)
    func failedRemembered(transport: PusherTransport) {
        var attempt = Attempt(remembered: (transport, .seconds(2)))
        #expect(attempt.after { $0.start(now: $1) } == ["open 1 \(transport.rawValue)", "next in 2000.0"])
        let others = Self.all.filter { $0 != transport }.map(\.rawValue)
        let patience = transport == .webSocket ? "4000.0" : "2000.0"
        #expect(
            attempt.after { $0.closed(1, Self.failure(), now: $1) }
                == ["no next", "forget", "open 2 \(others[0])", "next in \(patience)"]
        )
        #expect(attempt.after { $0.closed(2, Self.failure(), now: $1) } == ["no next", "open 3 \(others[1])"])
        #expect(attempt.after { $0.closed(3, Self.failure(), now: $1) } == Self.noTimers + ["fail 0"])
    }

    @Test("cancelling an attempt cancels all transports of the attempt")
    func abort() {
        var attempt = Attempt()
        _ = attempt.after { $0.start(now: $1) }
        _ = attempt.after { $0.timerFired(.next, now: $1) }
        #expect(attempt.after { choice, _ in choice.abort() } == ["abort 1", "abort 2"] + Self.noTimers)
        #expect(
            attempt.after {
                $0.abort() + $0.opened(1) + $0.ready(1, now: $1) + $0.closed(2, Self.failure(), now: $1)
                    + $0.timerFired(.next, now: $1) + $0.timerFired(.moment, now: $1)
            } == []
        )
    }

    @Test("the first HTTP transport starts at once without a WebSocket, and the second starts 4 s later")
    func onlyHTTP() {
        var attempt = Attempt([.httpStreaming, .httpPolling])
        #expect(attempt.after { $0.start(now: $1) } == ["open 1 httpStreaming", "next in 4000.0"])
        #expect(attempt.after(.seconds(4)) { $0.timerFired(.next, now: $1) } == ["open 2 httpPolling"])
    }

    // MARK: Memory

    @Test("the client first tries the last transport alone, for 1 s plus twice its latency, but at most 3 s")
    func rememberWebSocket() {
        var memory = TransportMemory()
        #expect(memory.plan(Self.all, now: Instant()) == .init(Self.all))
        memory.connected(.init(transport: .webSocket, latency: .milliseconds(50)), now: Instant())
        let half = Instant(after: .seconds(1_800))
        #expect(memory.plan(Self.all, now: half).remembered == .init(.webSocket, timeout: .milliseconds(1_100)))
        #expect(memory.plan(Self.all, now: half + .milliseconds(1)).remembered == nil)
        #expect(memory.plan(Self.all, now: half).remembered == nil)
        memory.connected(.init(transport: .webSocket, latency: .seconds(7)), now: half)
        #expect(memory.plan(Self.all, now: half).remembered == .init(.webSocket, timeout: .seconds(3)))
    }

    @Test("three more attempts begin with the WebSocket, and later attempts with the remembered HTTP transport")
    func rememberHTTP() {
        var memory = TransportMemory()
        var plans: [PusherTransport?] = []
        for _ in 0..<6 {
            plans.append(memory.plan(Self.all, now: Instant()).remembered?.transport)
            memory.connected(.init(transport: .httpStreaming, latency: .zero), now: Instant())
        }
        #expect(plans == [nil, nil, nil, nil, .httpStreaming, .httpStreaming])
        memory.forget()
        #expect(memory.plan(Self.all, now: Instant()).remembered == nil)
        // After `forget()`, the client does not need three more attempts that begin with the WebSocket.
        memory.connected(.init(transport: .httpStreaming, latency: .zero), now: Instant())
        #expect(memory.plan(Self.all, now: Instant()).remembered?.transport == .httpStreaming)
        memory.connected(.init(transport: .webSocket, latency: .zero), now: Instant())
        #expect(memory.plan(Self.all, now: Instant()).remembered?.transport == .webSocket)
        memory.connected(.init(transport: .httpStreaming, latency: .zero), now: Instant())
        #expect(memory.plan(Self.all, now: Instant()).remembered == nil)
    }

    @Test("the report of a remembered HTTP transport says why the WebSocket was not tried")
    func reasons() throws {
        let failure = PusherClientError(.upgradeFailed, "HTTP 426")
        var memory = TransportMemory()
        for _ in 0..<5 {
            _ = memory.plan(Self.all, now: Instant())
            memory.connected(
                .init(transport: .httpStreaming, latency: .zero, failures: [.webSocket: failure]),
                now: Instant()
            )
        }
        // The last attempt has no failure, because the client tried no other transport.
        memory.connected(.init(transport: .httpStreaming, latency: .zero), now: Instant())
        let plan = memory.plan(Self.all, now: Instant())
        let remembered = try #require(plan.remembered)
        #expect(remembered.unused.mapValues(\.code) == [.webSocket: .upgradeFailed])
        #expect(
            remembered.unused[.webSocket]?.message
                == "Not tried: HTTP streaming carried the last connections. The last try failed: HTTP 426"
        )
        var choice = TransportChoice(plan, attemptTimeout: .seconds(15))
        _ = choice.start(now: Instant())
        var failing = choice
        #expect(report(of: choice.ready(1, now: Instant()))?.unused == remembered.unused)
        _ = failing.closed(1, Self.failure(), now: Instant())
        #expect(
            report(of: failing.ready(2, now: Instant()))
                == TransportReport(.webSocket, unused: [.httpStreaming: failure])
        )
    }

    private func report(of actions: [TransportChoice.Action]) -> TransportReport? {
        for case .choose(_, let report, _) in actions { return report }
        return nil
    }

    @Test("the client uses no remembered transport if it is not allowed, or if only one transport is allowed")
    func rememberedElsewhere() {
        var memory = TransportMemory()
        memory.connected(.init(transport: .webSocket, latency: .zero), now: Instant())
        #expect(memory.plan([.httpStreaming, .httpPolling], now: Instant()).remembered == nil)
        #expect(memory.plan([.webSocket], now: Instant()).remembered == nil)
    }

    @Test("polling replaces streaming for half an hour after two early losses")
    func unstableStream() {
        var memory = TransportMemory()
        func lose(_ transport: PusherTransport, after lifetime: Duration) {
            memory.lost(transport, lifetime: lifetime, shortest: .seconds(150), now: Instant())
        }
        lose(.httpStreaming, after: .seconds(149))
        lose(.httpStreaming, after: .seconds(150))
        lose(.webSocket, after: .zero)
        lose(.httpPolling, after: .zero)
        #expect(memory.plan(Self.all, now: Instant()).transports == Self.all)
        lose(.httpStreaming, after: .zero)
        let plan = memory.plan(Self.all, now: Instant())
        #expect(plan.transports == [.webSocket, .httpPolling])
        #expect(plan.unused[.httpStreaming]?.code == .connectionClosed)
        #expect(memory.plan([.webSocket, .httpStreaming], now: Instant()).transports == [.webSocket, .httpStreaming])
        #expect(memory.plan(Self.all, now: Instant(after: .seconds(1_801))).transports == Self.all)
    }
}
