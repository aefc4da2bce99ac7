import RealtimePrimitives
import TestTraits
import Testing

@testable import WebSocketClient

/// The tests give the machine inputs, and compare its actions with the expected actions.
@Suite("The state machine of a reconnecting WebSocket", .limited)
struct ReconnectingStateMachineTests {
    typealias Machine = ReconnectingStateMachine

    private static let request = WebSocketRequest(host: "example.com")
    private static let loss = WebSocketClosure(code: nil, error: WebSocketError(.connectionClosed, "lost"))
    private static let reason = WebSocketError(.connectionClosed, "lost")
    private static let closed = WebSocketError(.connectionClosed, "Message not sent: the WebSocket is closed.")

    private static func machine(
        _ heartbeat: ReconnectingWebSocket.Heartbeat = .ping(interval: .seconds(30), timeout: .seconds(10)),
        maximumQueuedMessages: Int = 3
    ) -> Machine {
        Machine(
            .init(
                connectTimeout: .seconds(15),
                heartbeat: heartbeat,
                backOffReset: .seconds(10),
                maximumQueuedMessages: maximumQueuedMessages,
                maximumQueuedBytes: 100
            )
        )
    }

    /// Returns a machine whose first connection has been open since second 0.
    private static func open(_ heartbeat: ReconnectingWebSocket.Heartbeat = .default) -> Machine {
        var machine = machine(heartbeat)
        _ = machine.connect(now: .zero)
        _ = machine.requested(1, .success(request), now: .zero)
        _ = machine.opened(1, now: .zero)
        return machine
    }

    @Test("reconnects after a loss and a wait")
    func life() {
        var machine = Self.machine()
        #expect(
            machine.connect(now: .zero) == [
                .publish(.connecting(attempt: 1)), .makeRequest(1),
            ]
        )
        #expect(machine.wakeUp == .seconds(15))
        #expect(machine.connect(now: .zero) == [])
        #expect(machine.requested(1, .success(Self.request), now: .zero) == [.open(1, Self.request)])
        #expect(
            machine.opened(1, now: .seconds(1)) == [
                .publish(.open), .sendOpeningMessages(1),
            ]
        )
        #expect(machine.wakeUp == .seconds(31))
        #expect(
            machine.closed(1, Self.loss, now: .seconds(5)) == [
                .askRetryPolicy(.init(1, retryCount: 0, elapsed: .zero, reason: Self.reason))
            ]
        )
        #expect(
            machine.retryDecided(1, delay: .seconds(2), now: .seconds(5)) == [
                .publishWait(until: .seconds(7), attempt: 2, reason: Self.reason)
            ]
        )
        #expect(machine.wakeUp == .seconds(7))
        #expect(
            machine.wake(isPaused: false, now: .seconds(7))
                == [
                    .publish(.connecting(attempt: 2)), .makeRequest(2),
                ]
        )
        #expect(machine.wakeUp == .seconds(22))
        _ = machine.requested(2, .success(Self.request), now: .seconds(7))
        // The count and the time since the loss continue until a connection has been open long enough.
        #expect(
            machine.closed(2, Self.loss, now: .seconds(8)).last
                == .askRetryPolicy(.init(2, retryCount: 1, elapsed: .seconds(3), reason: Self.reason))
        )
    }

    @Test("a long connection resets the retry count")
    func reset() {
        for (seconds, count) in [(9, 1), (10, 0)] {
            var machine = Self.open()
            _ = machine.closed(1, Self.loss, now: .seconds(1))
            _ = machine.retryDecided(1, delay: .zero, now: .zero)
            _ = machine.wake(isPaused: false, now: .seconds(1))
            _ = machine.requested(2, .success(Self.request), now: .seconds(1))
            _ = machine.opened(2, now: .seconds(1))
            #expect(
                machine.closed(2, Self.loss, now: .seconds(1 + seconds)).last
                    == .askRetryPolicy(.init(2, retryCount: count, elapsed: .zero, reason: Self.reason))
            )
        }
    }

    @Test("a refusal's Retry-After is the shortest wait, even if the attempt times out before the refusal is complete")
    func retryAfter() {
        for isComplete in [true, false] {
            var machine = Self.machine()
            _ = machine.connect(now: .zero)
            _ = machine.requested(1, .success(Self.request), now: .zero)
            machine.refused(1, retryAfter: .seconds(20))
            let actions =
                isComplete
                ? machine.closed(1, Self.loss, now: .seconds(1)) : machine.wake(isPaused: false, now: .seconds(15))
            guard case .askRetryPolicy(let question)? = actions.last else {
                Issue.record("\(actions)")
                return
            }
            #expect(question.minimumDelay == .seconds(20))
            // The value is for this attempt only.
            _ = machine.retryDecided(1, delay: .zero, now: .seconds(15))
            _ = machine.wake(isPaused: false, now: .seconds(35))
            _ = machine.requested(2, .success(Self.request), now: .seconds(35))
            guard case .askRetryPolicy(let next)? = machine.closed(2, Self.loss, now: .seconds(36)).last else {
                Issue.record("no question")
                return
            }
            #expect(next.minimumDelay == .zero)
        }
    }

    @Test("aborts a slow attempt, and fails an attempt whose closure throws")
    func failedAttempts() {
        var machine = Self.machine()
        _ = machine.connect(now: .zero)
        _ = machine.requested(1, .success(Self.request), now: .zero)
        let actions = machine.wake(isPaused: false, now: .seconds(15))
        #expect(actions.first == .abort(1))
        guard case .askRetryPolicy(let question)? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(question == .init(1, retryCount: 0, elapsed: .seconds(15), reason: question.reason))
        #expect(question.reason.code == .connectionTimedOut)
        _ = machine.retryDecided(1, delay: .zero, now: .zero)
        _ = machine.wake(isPaused: false, now: .seconds(15))
        let refused = WebSocketError(.requestFailed, "no token")
        #expect(
            machine.requested(2, .failure(refused), now: .seconds(15))
                == [
                    .askRetryPolicy(.init(2, retryCount: 1, elapsed: .seconds(15), reason: refused))
                ]
        )
    }

    @Test("waiting messages fail with the reason of the loss when the retry policy stops the client")
    func end() {
        var machine = Self.machine()
        _ = machine.connect(now: .zero)
        #expect(machine.send("one", 1) == [])
        _ = machine.requested(1, .success(Self.request), now: .zero)
        _ = machine.closed(1, Self.loss, now: .zero)
        #expect(
            machine.retryDecided(1, delay: nil, now: .zero)
                == [.fail(1, Self.reason), .finish(WebSocketClosure(code: nil, error: Self.reason))]
        )
        #expect(machine.connect(now: .zero) == [])
        #expect(machine.send("two", 2) == [.fail(2, Self.closed)])
    }

    @Test("queues messages in order up to the limits, and does not send a cancelled message")
    func queue() {
        var machine = Self.machine()
        #expect(machine.send("one", 1) == [])
        #expect(machine.send("two", 2) == [])
        let big = WebSocketMessage.binary([UInt8](repeating: 0, count: 95))
        guard case .fail(3, let error)? = machine.send(big, 3).first else {
            Issue.record("a message that is too big waits")
            return
        }
        #expect(error.code == .sendQueueFull)
        #expect(machine.send("three", 4) == [])
        #expect(machine.send("four", 5).count == 1)
        let cancellations = [machine.cancelSend(2), machine.cancelSend(2)]
        #expect(cancellations == [true, false])
        _ = machine.connect(now: .zero)
        _ = machine.requested(1, .success(Self.request), now: .zero)
        let writes = machine.opened(1, now: .zero).filter { if case .write = $0 { true } else { false } }
        #expect(writes == [.write(1, 1, "one"), .write(1, 4, "three")])
        #expect(machine.send("five", 6) == [.write(1, 6, "five")])
    }

    @Test("sends the heartbeat only after silence, and accepts any message as an answer")
    func heartbeat() {
        var machine = Self.open()
        machine.activity(1, now: .seconds(20))
        #expect(machine.wake(isPaused: false, now: .seconds(30)) == [])
        #expect(machine.wakeUp == .seconds(50))
        #expect(machine.wake(isPaused: false, now: .seconds(50)) == [.sendHeartbeat(1)])
        #expect(machine.wakeUp == .seconds(60))
        machine.activity(1, now: .seconds(51))
        #expect(machine.wake(isPaused: false, now: .seconds(60)) == [])
        #expect(machine.wakeUp == .seconds(81))
    }

    @Test("drops a connection without an answer to the heartbeat, unless reading is paused")
    func dead() {
        var machine = Self.open()
        _ = machine.wake(isPaused: false, now: .seconds(30))
        // The app takes no messages, so the client has paused reading and cannot receive an answer.
        #expect(machine.wake(isPaused: true, now: .seconds(40)) == [])
        #expect(machine.wakeUp == .seconds(60))
        _ = machine.wake(isPaused: false, now: .seconds(60))
        let actions = machine.wake(isPaused: false, now: .seconds(70))
        #expect(actions.first == .abort(1))
        guard case .askRetryPolicy(let question)? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(question == .init(1, retryCount: 0, elapsed: .zero, reason: question.reason))
        #expect(question.reason.code == .pongTimedOut)
    }

    @Test("after a suspension, the client sends a heartbeat at once, and ignores what was before")
    func suspension() {
        var machine = Self.open(.ping(interval: .seconds(30), timeout: .seconds(10)))
        _ = machine.wake(isPaused: false, now: .seconds(30))
        // The server had no chance to answer the heartbeat of second 30.
        #expect(machine.wake(isPaused: false, now: .seconds(3_600)) == [.sendHeartbeat(1)])
        #expect(machine.wakeUp == .seconds(3_610))
        // These bytes were in the buffer of the socket.
        machine.activity(1, now: .seconds(7_200))
        #expect(machine.wake(isPaused: false, now: .seconds(7_205)) == [.sendHeartbeat(1)])
        #expect(machine.wakeUp == .seconds(7_215))
        var healthy = machine
        healthy.activity(1, isPong: true, now: .seconds(7_206))
        #expect(healthy.wake(isPaused: false, now: .seconds(7_215)) == [])
        #expect(healthy.wakeUp == .seconds(7_236))
        // After the pong, all data counts again.
        #expect(healthy.wake(isPaused: false, now: .seconds(7_236)) == [.sendHeartbeat(1)])
        healthy.activity(1, now: .seconds(7_237))
        #expect(healthy.wake(isPaused: false, now: .seconds(7_246)) == [])
        // The rest of these bytes, which takes several reads.
        for read in 0..<3 { machine.activity(1, now: .seconds(7_205) + .milliseconds(read)) }
        let actions = machine.wake(isPaused: false, now: .seconds(7_215))
        #expect(actions.first == .abort(1))
    }

    @Test("after a suspension, any data is the answer to a heartbeat that is a message")
    func suspensionWithMessages() {
        var machine = Self.open(.text("heart", interval: .seconds(30), timeout: .seconds(10)))
        #expect(machine.wake(isPaused: false, now: .seconds(3_600)) == [.sendHeartbeat(1)])
        machine.activity(1, now: .seconds(3_601))
        #expect(machine.wake(isPaused: false, now: .seconds(3_610)) == [])
    }

    /// Runs an open connection until it is lost, or for some seconds.
    ///
    /// - Parameters:
    ///   - arrivals: The times at which data arrives, in milliseconds.
    ///   - isAnswered: Whether the server answers each heartbeat after 10 ms.
    /// - Returns: The times of the heartbeats and of the loss, in milliseconds.
    private static func run(
        _ heartbeat: ReconnectingWebSocket.Heartbeat,
        seconds: Int,
        arrivals: [Int] = [],
        isAnswered: Bool
    ) -> (heartbeats: [Int], loss: Int?) {
        var machine = machine(heartbeat)
        _ = machine.connect(now: .zero)
        _ = machine.requested(1, .success(request), now: .zero)
        var actions = machine.opened(1, now: .zero)
        var arrivals = Set(arrivals)
        var heartbeats: [Int] = []
        for time in 0...(seconds * 1_000) {
            if arrivals.contains(time) { machine.activity(1, now: .milliseconds(time)) }
            if machine.wakeUp == .milliseconds(time) {
                actions = machine.wake(isPaused: false, now: .milliseconds(time))
            }
            for action in actions {
                switch action {
                case .sendHeartbeat:
                    heartbeats.append(time)
                    if isAnswered { arrivals.insert(time + 10) }
                case .askRetryPolicy: return (heartbeats, time)
                default: break
                }
            }
            actions = []
        }
        return (heartbeats, nil)
    }

    @Test("sends a heartbeat at each interval, even if the timeout is longer")
    func longTimeout() {
        let heartbeat = ReconnectingWebSocket.Heartbeat.ping(interval: .milliseconds(500), timeout: .seconds(2))
        let answered = Self.run(heartbeat, seconds: 5, isAnswered: true)
        #expect(answered.heartbeats == [500, 1010, 1520, 2030, 2540, 3050, 3560, 4070, 4580])
        #expect(answered.loss == nil)
        // The first heartbeat begins the timeout, and later heartbeats do not extend it.
        let silent = Self.run(heartbeat, seconds: 5, isAnswered: false)
        #expect(silent.heartbeats == [500, 1000, 1500, 2000])
        #expect(silent.loss == 2500)
        let late = Self.run(heartbeat, seconds: 5, arrivals: [2400], isAnswered: false)
        #expect(late.heartbeats == [500, 1000, 1500, 2000, 2900, 3400, 3900, 4400])
        #expect(late.loss == 4900)
    }

    @Test("sends a fixed heartbeat even while data arrives, and only then")
    func fixed() {
        let data = Array(stride(from: 50, to: 3_000, by: 100))
        for isFixed in [false, true] {
            let heartbeat = ReconnectingWebSocket.Heartbeat.text(
                "heart",
                interval: .milliseconds(500),
                timeout: .milliseconds(200),
                isFixed: isFixed
            )
            let run = Self.run(heartbeat, seconds: 3, arrivals: data, isAnswered: false)
            #expect(run.heartbeats == (isFixed ? [500, 1000, 1500, 2000, 2500, 3000] : []))
            #expect(run.loss == nil)
            let dead = Self.run(heartbeat, seconds: 3, isAnswered: false)
            #expect(dead.heartbeats == [500] && dead.loss == 700)
        }
    }

    @Test("an attempt fails if the app's request is late, and a permanent error stops the client")
    func noRequest() {
        var machine = Self.machine()
        _ = machine.connect(now: .zero)
        let actions = machine.wake(isPaused: false, now: .seconds(15))
        #expect(actions.first == .abort(1))
        #expect(machine.requested(1, .success(Self.request), now: .seconds(15)) == [])
        var refused = Self.machine()
        _ = refused.connect(now: .zero)
        let error = WebSocketError(.invalidHost, "no host")
        #expect(
            refused.requested(1, .failure(error), now: .zero)
                == [.finish(WebSocketClosure(code: nil, error: error))]
        )
    }

    @Test("an open connection without a heartbeat waits for no time")
    func noHeartbeat() {
        var machine = Self.machine(.off)
        _ = machine.connect(now: .zero)
        _ = machine.requested(1, .success(Self.request), now: .zero)
        #expect(
            machine.opened(1, now: .zero) == [
                .publish(.open), .sendOpeningMessages(1),
            ]
        )
        #expect(machine.wakeUp == nil)
    }

    @Test("closing works in every state, and releases the resources of the state")
    func closing() {
        let closed = Machine.Action.finish(WebSocketClosure(code: nil))
        var idle = Self.machine()
        #expect(idle.close(code: 1000, reason: "") == [closed])
        var preparing = Self.machine()
        _ = preparing.connect(now: .zero)
        #expect(preparing.close(code: 1000, reason: "") == [.abort(1), closed])
        #expect(preparing.requested(1, .success(Self.request), now: .zero) == [])
        var connecting = Self.machine()
        _ = connecting.connect(now: .zero)
        _ = connecting.requested(1, .success(Self.request), now: .zero)
        #expect(connecting.close(code: 1000, reason: "") == [.abort(1), closed])
        var asking = Self.open()
        _ = asking.closed(1, Self.loss, now: .zero)
        #expect(asking.close(code: 1000, reason: "") == [closed])
        #expect(asking.retryDecided(1, delay: .zero, now: .zero) == [])
        var waiting = Self.open()
        _ = waiting.closed(1, Self.loss, now: .zero)
        _ = waiting.retryDecided(1, delay: .seconds(1), now: .zero)
        #expect(waiting.close(code: 1000, reason: "") == [closed])
        #expect(waiting.wakeUp == nil)
        var open = Self.open()
        #expect(
            open.close(code: 4000, reason: "bye")
                == [.publish(.closing), .close(1, 4000, reason: "bye")]
        )
        #expect(open.close(code: 1000, reason: "") == [])
        let closure = WebSocketClosure(code: 4000, reason: "bye")
        #expect(open.closed(1, closure, now: .zero) == [.finish(closure)])
    }

    @Test("ignores inputs from an earlier attempt")
    func stale() {
        var machine = Self.open()
        _ = machine.closed(1, Self.loss, now: .zero)
        _ = machine.retryDecided(1, delay: .zero, now: .zero)
        _ = machine.wake(isPaused: false, now: .zero)
        _ = machine.requested(2, .success(Self.request), now: .zero)
        #expect(machine.requested(1, .success(Self.request), now: .zero) == [])
        #expect(machine.opened(1, now: .zero) == [])
        #expect(machine.closed(1, Self.loss, now: .zero) == [])
        #expect(machine.retryDecided(1, delay: nil, now: .zero) == [])
        #expect(machine.opened(2, now: .zero).contains(.publish(.open)))
    }
}
