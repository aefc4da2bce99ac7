import RealtimePrimitives
import SignalRCore
import TestTraits
import Testing

@Suite(.limited) struct ConnectingTests {
    func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0x1E] }

    @Test func startsWithAHandshakeAndAPing() throws {
        var world = World()
        let start = world.start()
        let attempt = try #require(world.attempts.last)
        #expect(world.take() == [.publish(.connecting(attempt: 1)), .open(attempt)])
        #expect(world.machine.state == .connecting)
        world.open()
        #expect(world.take() == [.write(attempt, text(#"{"protocol":"json","version":1}"#), receipt: nil)])
        world.receive(bytes: text("{}"))
        #expect(
            world.take() == [
                .write(attempt, text(#"{"type":6}"#), receipt: nil), .publish(.connected(.webSocket)),
                .finishStart(start, nil),
            ]
        )
        #expect(world.machine.state == .connected)
    }

    @Test func asksForVersionTwoOnlyIfTheConnectionCanBeResumed() throws {
        var world = World(.messagePack)
        world.start()
        world.open(.resumable)
        guard case .write(_, let bytes, _) = try #require(world.take().last) else { throw HubFailure.test }
        #expect(bytes == text(#"{"protocol":"messagepack","version":2}"#))
    }

    @Test(
        arguments: [
            (#"{"error":"no"}"#, .signalR(.handshakeError("no"))),
            (#"{"type":6}"#, .signalR(.expectedHandshakeResponse)),
            ("nonsense", .signalR(.expectedHandshakeResponse)),
        ] as [(String, HubFailure)]
    ) func refusedHandshakesFailTheStart(answer: String, failure: HubFailure) throws {
        var world = World(reconnects: true)
        let start = world.start()
        world.open()
        let attempt = try #require(world.attempts.last)
        _ = world.take()
        world.receive(bytes: text(answer))
        #expect(world.take() == [.abort(attempt), .publish(.stopped(failure)), .finishStart(start, failure)])
        #expect(world.machine.wakeUp == nil)
    }

    @Test func theHandshakeHas15Seconds() {
        var world = World()
        let start = world.start()
        world.open()
        world.advance(by: .milliseconds(14_999))
        #expect(world.machine.state == .connecting)
        world.advance(by: .milliseconds(1))
        #expect(world.take().last == .finishStart(start, .signalR(.noHandshakeMessageReceived)))
    }

    @Test func aLossDuringTheHandshakeFailsTheStart() {
        var world = World(reconnects: true)
        let start = world.start()
        world.open()
        world.close()
        #expect(world.take().last == .finishStart(start, .test))
        #expect(world.machine.state == .stopped)
    }

    @Test func whatFollowsTheAnswerInTheSameBytesIsHandled() {
        var world = World()
        world.start()
        world.open()
        world.receive(bytes: text("{}") + text(#"{"type":1,"target":"T","arguments":[]}"#) + text(#"{"type":7}"#))
        let actions = world.take()
        #expect(actions.contains { if case .deliver(let call, _) = $0 { call.target == "T" } else { false } })
        // The start succeeds even if the connection closes right after the handshake.
        #expect(actions.contains { if case .finishStart(_, nil) = $0 { true } else { false } })
        world.close(nil)
        #expect(world.take() == [.publish(.stopped(nil)), .announceClosed(nil)])
    }

    @Test func startIsPossibleOnlyIfStopped() {
        var world = World(reconnects: true)
        let failure = HubFailure.signalR(
            .invalidOperation("start() needs a connection in the state 'Stopped'.")
        )
        world.start()
        _ = world.take()
        for step in 0..<4 {
            let second = world.start()
            #expect(world.take() == [.finishStart(second, failure)])
            switch step {
            case 0: world.open()
            case 1: world.receiveHandshake()
            case 2: world.close()
            default: world.decide(.zero)
            }
            _ = world.take()
        }
    }

    @Test func aCancelledStartEndsTheAttempt() throws {
        var world = World()
        let start = world.start()
        let attempt = try #require(world.attempts.last)
        _ = world.take()
        world.input { $0.cancelStart(start, now: $1) }
        #expect(world.take() == [.abort(attempt), .publish(.stopped(.cancelled)), .finishStart(start, .cancelled)])
        // The start has returned already, so a late cancellation changes nothing.
        world.connect()
        world.input { $0.cancelStart(start, now: $1) }
        #expect(world.machine.state == .connected)
    }

    // MARK: Retrying a start

    @Test func aRetriedStartAsksThePolicyAfterEachFailure() throws {
        var world = World()
        world.advance(by: .seconds(1))
        let start = world.start(retries: true)
        world.advance(by: .seconds(1))
        _ = world.take()
        world.fail()
        var question = try #require(world.questions.last)
        #expect(
            world.take().last
                == .askRetryPolicy(.init(question, retryCount: 0, elapsed: .seconds(1), reason: .test), start: start)
        )
        #expect(world.machine.state == .connecting)
        world.decide(.seconds(2))
        #expect(world.take() == [.publish(.waiting(until: .seconds(4), attempt: 2, reason: .test))])
        world.advance(by: .seconds(2))
        #expect(world.take() == [.publish(.connecting(attempt: 2)), .open(try #require(world.attempts.last))])
        world.open()
        world.receive(bytes: Handshake.response(error: "no"))
        question = try #require(world.questions.last)
        let refusal = HubFailure.signalR(.handshakeError("no"))
        #expect(
            world.take().last
                == .askRetryPolicy(.init(question, retryCount: 1, elapsed: .seconds(3), reason: refusal), start: start)
        )
        world.decide(.zero)
        #expect(world.take() == [.publish(.waiting(until: .seconds(4), attempt: 3, reason: refusal))])
        world.advance(by: .zero)
        world.open()
        world.receiveHandshake()
        // A connection after a retried start does not count as a reconnect.
        #expect(world.take().suffix(2) == [.publish(.connected(.webSocket)), .finishStart(start, nil)])
        world.finishAll()
        #expect(world.violations == [])
    }

    @Test func aPolicyThatSaysNoFailsTheStartWithTheLastError() {
        var world = World()
        let start = world.start(retries: true)
        world.fail()
        _ = world.take()
        world.decide(nil)
        #expect(world.take() == [.publish(.stopped(.test)), .finishStart(start, .test)])
    }

    @Test func aURLThatCannotBeUsedIsNotTriedAgain() {
        var world = World()
        let start = world.start(retries: true)
        world.fail(.signalR(.invalidUrl("x")))
        #expect(world.take().last == .finishStart(start, .signalR(.invalidUrl("x"))))
        #expect(world.questions == [])
    }

    @Test func stopAndCancellationEndARetriedStart() {
        for step in 0..<4 {
            for isCancelled in [false, true] {
                var world = World(reconnects: true)
                let start = world.start(retries: true)
                if step > 0 { world.fail() }
                if step > 1 { world.decide(.seconds(2)) }
                if step > 2 { world.advance(by: .seconds(2)) }
                _ = world.take()
                let failure: HubFailure = isCancelled ? .cancelled : .signalR(.connectionAborted)
                if isCancelled { world.input { $0.cancelStart(start, now: $1) } } else { world.stop() }
                let actions = world.take()
                #expect(actions.contains(.finishStart(start, failure)))
                #expect(!actions.contains { if case .announceClosed = $0 { true } else { false } })
                #expect(world.machine.state == .stopped && world.machine.wakeUp == nil)
                world.finishAll()
                #expect(world.violations == [])
            }
        }
    }

    @Test func aLossAfterARetriedStartIsForTheOtherPolicy() throws {
        var world = World(reconnects: true)
        world.start(retries: true)
        world.fail()
        world.decide(.zero)
        world.advance(by: .zero)
        world.open()
        world.receiveHandshake()
        _ = world.take()
        world.close()
        let question = try #require(world.questions.last)
        #expect(world.take() == [.askRetryPolicy(.init(question, retryCount: 0, elapsed: .zero, reason: .test))])
    }

    // MARK: Stopping

    @Test func stopSendsACloseAndWaitsForTheTransport() throws {
        var world = World()
        world.connect()
        let call = world.invoke()
        let attempt = try #require(world.attempts.last)
        _ = world.take()
        let (first, second) = (world.stop(), world.stop())
        #expect(
            world.take() == [
                .write(attempt, text(#"{"type":7}"#), receipt: nil), .finishCall(call, .failure(.callEnded)),
                .close(attempt),
            ]
        )
        world.close(nil)
        #expect(
            world.take() == [.publish(.stopped(nil)), .announceClosed(nil), .finishStop(first), .finishStop(second)]
        )
        #expect(world.machine.wakeUp == nil)
    }

    @Test func stopWaits5SecondsForAServerThatDoesNotAnswer() throws {
        var world = World()
        world.connect()
        let stop = world.stop()
        _ = world.take()
        world.advance(by: .milliseconds(4_999))
        #expect(world.take() == [])
        world.advance(by: .milliseconds(1))
        let attempt = try #require(world.attempts.last)
        #expect(
            world.take() == [.abort(attempt), .publish(.stopped(nil)), .announceClosed(nil), .finishStop(stop)]
        )
    }

    @Test func stopDuringTheStartFailsTheStartAndAnnouncesNothing() throws {
        var world = World()
        let start = world.start()
        let attempt = try #require(world.attempts.last)
        _ = world.take()
        let stop = world.stop()
        #expect(
            world.take() == [
                .abort(attempt), .publish(.stopped(.signalR(.connectionAborted))),
                .finishStart(start, .signalR(.connectionAborted)), .finishStop(stop),
            ]
        )
    }

    @Test func stopOfAStoppedConnectionReturnsAtOnce() {
        var world = World()
        let stop = world.stop()
        #expect(world.take() == [.finishStop(stop)])
    }

    @Test func aStartWhileTheTransportClosesWaitsForIt() {
        var world = World()
        world.connect()
        world.stop()
        let start = world.start()
        #expect(world.machine.state == .connecting)
        world.close(nil)
        world.open()
        world.receiveHandshake()
        #expect(world.take().last == .finishStart(start, nil))
        // A stop also cancels a start that waits for the end of a transport.
        world.stop()
        let second = world.start()
        _ = world.take()
        world.stop()
        #expect(world.take() == [.finishStart(second, .signalR(.connectionAborted))])
    }

    // MARK: The server closes

    @Test(arguments: [nil, "bad"], [false, true]) func theServersCloseEndsTheConnection(
        error: String?,
        reconnects: Bool
    ) {
        var world = World(reconnects: reconnects)
        world.connect()
        world.receive(.close(error: error, allowReconnect: false), .invocation(HubInvocation(target: "late")))
        // The Close message has priority over the transport's error, even if the message contains no error.
        world.close(.test)
        let failure = error.map {
            HubFailure.client(SignalRClientError(.serverClosed, "Server returned an error on close: \($0)"))
        }
        let actions = world.take()
        #expect(actions.suffix(2) == [.publish(.stopped(failure)), .announceClosed(failure)])
        #expect(!actions.contains { if case .deliver = $0 { true } else { false } })
    }

    @Test func theServersCloseMayAllowToReconnect() throws {
        var world = World(reconnects: true)
        world.connect()
        let attempt = try #require(world.attempts.last)
        world.receive(.close(error: "bye", allowReconnect: true))
        let failure = HubFailure.client(SignalRClientError(.serverClosed, "Server returned an error on close: bye"))
        let question = try #require(world.questions.last)
        #expect(
            world.take() == [
                .abort(attempt), .askRetryPolicy(.init(question, retryCount: 0, elapsed: .zero, reason: failure)),
            ]
        )
        #expect(world.machine.state == .reconnecting)
    }

    @Test func aLossWithoutAPolicyEndsTheConnection() {
        for failure in [HubFailure.test, nil] {
            var world = World()
            world.connect()
            let call = world.invoke()
            _ = world.take()
            world.close(failure)
            #expect(
                world.take() == [
                    .finishCall(call, .failure(failure ?? .callEnded)), .publish(.stopped(failure)),
                    .announceClosed(failure),
                ]
            )
        }
    }

    // MARK: Keep-alive

    @Test func pingsAfter15SecondsWithoutAMessageSent() {
        var world = World { $0.serverTimeout = .seconds(1000) }
        world.connect()
        world.advance(by: .milliseconds(14_999))
        #expect(world.take() == [])
        world.advance(by: .milliseconds(1))
        #expect(world.take().written == [.ping])
        world.advance(by: .seconds(10))
        world.send()
        _ = world.take()
        world.advance(by: .milliseconds(14_999))
        #expect(world.take() == [])
        world.advance(by: .milliseconds(1))
        #expect(world.take().written == [.ping])
    }

    @Test func losesTheConnectionAfter30SecondsWithoutAnyBytes() {
        var world = World()
        world.connect()
        world.advance(by: .seconds(20))
        // A part of a message shows that the server is alive.
        world.receive(bytes: [UInt8(ascii: "{")])
        world.advance(by: .milliseconds(29_999))
        #expect(world.machine.state == .connected)
        world.advance(by: .milliseconds(1))
        #expect(world.take().last == .announceClosed(.signalR(.serverTimeout(30))))
    }

    @Test func aTimerThatIsLateClosesAtOnce() {
        var world = World()
        world.connect()
        // The test simulates a suspension of the computer.
        world.now += .seconds(3600)
        world.advance(by: .zero)
        #expect(world.take().last == .announceClosed(.signalR(.serverTimeout(30))))
    }

    /// Makes a world whose computer wakes after an hour, with messages that had waited for it.
    private func awakened() -> World {
        var world = World()
        world.connect()
        _ = world.take()
        world.now += .seconds(3600)
        // The rest comes with later reads.
        for _ in 1...3 {
            world.receive(.ping)
            world.advance(by: .milliseconds(10))
        }
        return world
    }

    @Test func messagesThatWaitedDuringASuspensionDoNotKeepADeadConnection() {
        var world = awakened()
        #expect(world.machine.state == .connected)
        #expect(world.take().contains { if case .write = $0 { true } else { false } })
        world.advance(by: .seconds(16))
        #expect(world.take().last == .announceClosed(.signalR(.serverTimeout(30))))
    }

    @Test func aConnectionThatOutlivesASuspensionStays() {
        var world = awakened()
        for _ in 1...5 {
            world.advance(by: .seconds(15))
            world.receive(.ping)
        }
        #expect(world.machine.state == .connected)
    }

    @Test func anIdleLongPollStays() {
        var world = World()
        world.connect(.longPolling)
        #expect(world.machine.wakeUp == nil)
        world.advance(by: .seconds(60))
        #expect(world.take() == [])
        #expect(world.machine.state == .connected)
    }
}
