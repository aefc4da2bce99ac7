import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

@Suite("Learning idle limits", .limited)
struct KeepAliveTests {
    @Test("The client learns no idle limit from one loss, or from two losses after different silences")
    func suspicion() {
        var client = CoreClient.connected()
        for seconds in [3, 40, 36, 60, 3] {
            client.advance(by: .seconds(seconds))
            client.closed()
            #expect(client.interval == nil)
            client.reconnect()
        }
        // The silences may differ by a tenth.
        client.advance(by: .milliseconds(3_300))
        client.closed()
        #expect(client.interval == .milliseconds(1_650))
    }

    @Test("The client learns no idle limit from a loss at the beginning of an outage")
    func outage() {
        for isTimedOut in [true, false] {
            var client = CoreClient.connected()
            for _ in 1...3 {
                client.advance(by: .seconds(3))
                client.closed()
                client.decide(.zero)
                client.advance(by: .zero)
                if isTimedOut { client.advance(by: .seconds(15)) } else { client.closed() }
                client.reconnect()
            }
            #expect(client.interval == nil)
        }
    }

    @Test("The client learns no idle limit if a connection survives the silence between two losses")
    func refutedSuspicion() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(3))
        client.closed()
        client.reconnect()
        client.hold(for: .seconds(121))
        client.closed(code: 4200)
        client.establish()
        client.advance(by: .seconds(3))
        client.closed()
        #expect(client.interval == nil)
    }

    @Test("After two losses that follow 40 s of silence, the client pings every 20 s on the next connection")
    func learned() {
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40))
        #expect(client.interval == .seconds(20))
        #expect(client.reconnect().timers.last == "set keepAlive 20s")
        #expect(client.advance(by: .milliseconds(19_999)) == [])
        #expect(client.advance(by: .milliseconds(1)) == ["set keepAlive 20s", "send 3 ping"])
        client.received(.pong)
        #expect(client.advance(by: .seconds(20)).wire == ["send 3 ping"])
    }

    @Test("A message from the client postpones the ping, but a message from the server does not")
    func putOff() {
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40))
        client.reconnect()
        client.advance(by: .seconds(15))
        client.subscribe("a")
        for _ in 1...19 {
            #expect(client.advance(by: .seconds(1)).wire == [])
            client.frameReceived()
        }
        #expect(client.advance(by: .seconds(1)).wire == ["send 3 ping"])
    }

    @Test("The client still pings after a shorter activity timeout, and disconnect() stops the timer of the pings")
    func ended() {
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40))
        client.reconnect(activityTimeout: "10")
        #expect(client.advance(by: .seconds(10)).wire == ["send 3 ping"])
        #expect(client.disconnect().timers.words.contains("stop keepAlive"))
        #expect(client.timer(.keepAlive) == nil)
    }

    @Test(
        "The client learns an idle limit only from close codes that give no reason for the loss",
        arguments: [
            (nil, true), (1000, true), (1001, false), (1005, true), (1006, true), (1002, false), (1009, false),
            (1011, false), (1012, false), (3000, false), (4100, false), (4200, false), (4201, false),
        ] as [(Int?, Bool)]
    )
    func codes(code: Int?, teaches: Bool) {
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40), code: code.map { CloseCode(rawValue: $0) })
        #expect((client.interval != nil) == teaches)
    }

    @Test(
        "The client learns an idle limit only from errors that give no reason for the loss",
        arguments: [
            (.connectionClosed, true), (.connectionFailed, true), (.tlsFailed, false), (.protocolViolation, false),
            (.messageTooBig, false), (.sendBufferFull, false),
        ] as [(PusherClientError.Code, Bool)]
    )
    func errors(code: PusherClientError.Code, teaches: Bool) {
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40), error: PusherClientError(code, "over"))
        #expect((client.interval != nil) == teaches)
    }

    @Test("The ping interval is half of the silence before the last loss, and at least a second")
    func shortest() {
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(3))
        #expect(client.interval == .milliseconds(1_500))
        client.reconnect()
        client.loseTwice(after: .milliseconds(1_400))
        #expect(client.interval == .seconds(1))
        client.reconnect()
        #expect(client.advance(by: .seconds(1)).wire == ["send 5 ping"])
    }

    @Test("The client learns no idle limit from a silence of less than a second")
    func tooShort() {
        var client = CoreClient.connected()
        client.loseTwice(after: .milliseconds(999))
        #expect(client.interval == nil)
    }

    @Test("The ping interval never exceeds the activity timeout")
    func longest() {
        var client = CoreClient.connected()
        client.loseTwice { client in
            for _ in 1...30 {
                client.advance(by: .seconds(20))
                client.received(.message(nil))
            }
            client.closed()
        }
        #expect(client.interval == .seconds(120))
    }

    @Test("The client learns an idle limit that equals the activity timeout, from a loss right after its ping")
    func equal() {
        var client = CoreClient.connected()
        client.loseTwice { client in
            #expect(client.advance(by: .seconds(120)).wire.words.last?.hasSuffix("ping") == true)
            client.closed(code: .normalClosure)
        }
        #expect(client.interval == .seconds(60))
    }

    @Test("Only a pong proves that the ping arrived in time")
    func proof() {
        func lose(_ answer: Envelope) -> Duration? {
            var client = CoreClient.connected()
            client.loseTwice { client in
                client.advance(by: .seconds(120))
                client.received(answer)
                client.advance(by: .milliseconds(100))
                client.closed()
            }
            return client.interval
        }
        #expect(lose(.message(nil)) == .seconds(60))
        #expect(lose(.pong) == nil)
    }

    @Test("The client learns no idle limit from a silence that the connection has already survived")
    func survived() {
        var client = CoreClient.connected()
        client.loseTwice { client in
            client.advance(by: .seconds(120))
            client.received(.pong)
            client.advance(by: .seconds(119))
            client.closed()
        }
        #expect(client.interval == nil)
        // Each connection survives one interval, and is lost before the next ping.
        for _ in 1...20 {
            client.reconnect(activityTimeout: "30")
            client.advance(by: .seconds(30))
            client.received(.pong)
            client.advance(by: .seconds(7))
            client.closed()
        }
        #expect(client.interval == nil)
    }

    @Test("A loss after a silence that its connection survived makes no later loss count")
    func survivedOnce() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        client.received(.pong)
        client.advance(by: .seconds(40))
        client.closed()
        client.reconnect()
        client.advance(by: .seconds(40))
        client.closed()
        #expect(client.interval == nil)
    }

    @Test("A connection has survived a silence if any frame arrives after the client's next message")
    func survivedMessage() {
        var client = CoreClient.connected()
        client.loseTwice { client in
            client.advance(by: .seconds(50))
            client.subscribe("a")
            client.received(.success("a"))
            client.unsubscribe("a")
            client.advance(by: .seconds(45))
            client.closed()
        }
        #expect(client.interval == nil)
    }

    @Test("The client learns an idle limit although the connections survived silences that were almost as long")
    func almostSurvived() {
        var client = CoreClient.connected()
        var channels = ["a", "b"]
        client.loseTwice { client in
            let channel = channels.removeFirst()
            client.advance(by: .milliseconds(9_500))
            client.subscribe(channel)
            client.received(.success(channel))
            client.advance(by: .seconds(10))
            client.closed()
        }
        #expect(client.interval == .seconds(5))
    }

    @Test("The client learns an idle limit from an unanswered ping, except after a suspension")
    func pongTimeout() {
        var client = CoreClient.connected()
        client.loseTwice { client in
            client.advance(by: .seconds(150))
            #expect(client.state == .reconnecting)
        }
        #expect(client.interval == .seconds(60))
        var suspended = CoreClient.connected()
        suspended.loseTwice { client in
            client.suspend(for: .seconds(3_600))
            client.connect()
            client.advance(by: .seconds(30))
            #expect(client.state == .reconnecting)
        }
        #expect(suspended.interval == nil)
    }

    @Test("The client learns no idle limit from a loss after a suspension, with or without a ping")
    func suspended() {
        for isPinged in [true, false] {
            var client = CoreClient.connected()
            client.loseTwice { client in
                client.suspend(for: .seconds(3_600))
                if isPinged { client.connect() }
                client.closed()
            }
            #expect(client.interval == nil)
        }
        // This suspension is longer than the client's ping interval, but too short for the client to detect it.
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40))
        client.reconnect()
        client.loseTwice { client in
            client.suspend(for: .seconds(31))
            client.closed()
        }
        #expect(client.interval == .seconds(20))
        client.reconnect()
        #expect(client.lastSilence == .seconds(40))
    }

    @Test("The client learns no idle limit from a loss within a second after a server error")
    func explained() {
        var client = CoreClient.connected()
        client.loseTwice { client in
            client.advance(by: .seconds(40))
            client.received(.error(nil, "over capacity"))
            client.advance(by: .milliseconds(999))
            client.closed()
        }
        #expect(client.interval == nil)
        client.reconnect()
        client.loseTwice { client in
            client.received(.error(nil, "no"))
            client.advance(by: .seconds(2))
            client.closed()
        }
        #expect(client.interval == .seconds(1))
    }

    @Test("The client learns no idle limit from a loss that the app caused or that its check discovered")
    func application() {
        var client = CoreClient.connected()
        client.loseTwice { client in
            client.advance(by: .seconds(40))
            client.checkConnection()
            client.advance(by: .seconds(5))
            #expect(client.state == .reconnecting)
        }
        #expect(client.interval == nil)
        client.reconnect()
        for _ in 1...2 {
            client.advance(by: .seconds(40))
            client.reconnectNow()
            client.establish()
        }
        for _ in 1...2 {
            client.advance(by: .seconds(40))
            client.disconnect()
            client.closed()
            client.connect()
            client.establish()
        }
        #expect(client.interval == nil)
    }

    @Test("The client learns no idle limit from a failed attempt")
    func attempt() {
        var client = CoreClient()
        client.connect()
        for _ in 1...2 {
            client.opened()
            client.advance(by: .seconds(10))
            client.closed()
            client.decide(.zero)
            client.advance(by: .zero)
        }
        #expect(client.interval == nil)
    }

    // MARK: The end of the pings

    @Test("The client stops its pings after 60 answers, even if they come on several connections")
    func forgotten() {
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40))
        client.reconnect()
        client.hold(for: .seconds(30 * 20))
        client.closed(code: 4200)
        client.establish()
        client.hold(for: .seconds(29 * 20))
        #expect(client.interval == .seconds(20))
        client.hold(for: .seconds(20))
        #expect(client.interval == nil)
        #expect(client.advance(by: .seconds(119)).wire == [])
        #expect(client.advance(by: .seconds(1)).wire == ["send 4 ping"])
        #expect(client.timer(.keepAlive) == nil)
    }

    @Test("Two losses 2 s after the greeting lead to 60 pings on the next connection, not one a second")
    func flood() {
        var client = CoreClient.connected()
        for _ in 1...2 {
            client.hold(for: .seconds(2))
            client.closed()
            client.reconnect()
        }
        #expect(client.interval == .seconds(1))
        let before = client.pingCount
        client.hold(for: .seconds(2 * 3_600))
        #expect(client.pingCount - before <= 60 + 2 * 3_600 / 120)
    }

    @Test("After each further loss, the client stops its pings after ten times as many answers, but at most 6,000")
    func patience() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(3))
        client.closed()
        client.reconnect()
        for count in [60, 600, 6_000, 6_000] {
            client.advance(by: .seconds(3))
            client.closed()
            client.reconnect()
            client.hold(for: .milliseconds(1_500 * (count - 1)))
            #expect(client.interval == .milliseconds(1_500))
            client.hold(for: .milliseconds(1_500))
            #expect(client.interval == nil)
        }
    }

    @Test("The client forgets the idle limit when a connection survives the silence")
    func disproved() {
        var client = CoreClient.connected()
        for _ in 1...2 {
            client.loseTwice(after: .seconds(3))
            client.reconnect()
            client.hold(for: .seconds(90))
            client.hold(for: .seconds(121))
            #expect(client.interval == nil && client.lastSilence == nil)
            client.closed(code: 4200)
            client.establish()
        }
    }

    // MARK: A limit on messages

    @Test("After a ping, the client counts error 4301 as an answer, does not report it, and pings less often")
    func rejected() {
        let exceeded = Envelope.error(4301, "Rate limit exceeded")
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40))
        client.reconnect()
        for seconds in [20, 30, 35, 36] {
            #expect(client.interval == .seconds(seconds))
            #expect(client.advance(by: .seconds(seconds)).wire == ["send 3 ping"])
            #expect(client.received(exceeded) == [])
        }
        // The server rejects even pings after 36 s, so the client exceeds the idle limit of 40 s.
        #expect(client.interval == .seconds(72))
        #expect(client.state == .connected)
        // The server has answered every ping, so this error is not an answer to a ping.
        #expect(client.received(exceeded) == ["report serverError 4301"])
    }

    @Test("A rejected ping does not delay subscriptions")
    func rejectedBeforeSubscription() {
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40))
        client.reconnect()
        client.advance(by: .seconds(20))
        client.received(.error(4301, "Rate limit exceeded"))
        #expect(client.subscribe("a").wire == ["send 3 subscribe a"])
    }

    @Test("Another host or port has its own idle limit")
    func endpoints() {
        var client = CoreClient.connected()
        client.loseTwice(after: .seconds(40))
        client.switchTo("server.example")
        #expect(client.interval == .seconds(20))
        client.switchTo("server.example", port: 81)
        #expect(client.interval == nil)
        client.establish()
        client.loseTwice(after: .seconds(40))
        #expect(client.interval == .seconds(20))
        client.switchTo("second.example", port: 81)
        #expect(client.interval == nil)
    }
}

extension CoreClient {
    fileprivate var interval: Duration? { machine.statistics(now: now).pings.keepAliveInterval }

    fileprivate var lastSilence: Duration? { machine.keepAlive.lastSilence }

    fileprivate var pingCount: Int { machine.statistics(now: now).pings.sent }

    /// Reconnects at once.
    @discardableResult
    fileprivate mutating func reconnect(activityTimeout: String = "120") -> Transcript {
        decide(.zero)
        advance(by: .zero)
        return establish(activityTimeout: activityTimeout)
    }

    /// Loses two connections after the same silence.
    fileprivate mutating func loseTwice(
        after silence: Duration,
        code: CloseCode? = nil,
        error: PusherClientError? = nil
    ) {
        loseTwice { client in
            client.advance(by: silence)
            client.closed(code: code, error: error)
        }
    }

    /// Loses two connections in the same way.
    fileprivate mutating func loseTwice(_ lose: (inout CoreClient) -> Void) {
        lose(&self)
        reconnect()
        lose(&self)
    }

    /// Lets time pass while the server answers all pings.
    fileprivate mutating func hold(for duration: Duration) {
        let end = now + duration
        while now < end {
            for _ in advance(by: min(.milliseconds(500), end - now)).wire.words { received(.pong) }
        }
    }
}
