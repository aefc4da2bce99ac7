import RealtimePrimitives
import SignalRCore
import TestTraits
import Testing

@Suite(.limited) struct ReconnectingTests {
    static let delays: [Duration] = [.zero, .seconds(2), .seconds(10), .seconds(30)]

    /// Fails every attempt at once, and returns the time from the loss to the beginning of each attempt.
    func attempts(_ world: inout World) -> [Duration] {
        var times: [Duration] = []
        let loss = world.now
        var asked = 0
        while world.machine.state == .reconnecting {
            world.decide(asked < Self.delays.count ? Self.delays[asked] : nil)
            asked += 1
            guard let due = world.machine.wakeUp else { break }
            world.advance(by: due - world.now)
            times.append(world.now - loss)
            world.fail(.client(SignalRClientError(.connectionFailed, "attempt \(asked)")))
        }
        return times
    }

    @Test func waitsBeforeEachAttempt() {
        var world = World(reconnects: true)
        world.connect()
        world.advance(by: .seconds(7))
        _ = world.take()
        world.close()
        #expect(attempts(&world) == [.zero, .seconds(2), .seconds(12), .seconds(42)])
        let actions = world.take()
        let announced = actions.filter { if case .announceReconnecting = $0 { true } else { false } }
        #expect(announced == [.announceReconnecting(.test)])
        let last = HubFailure.client(SignalRClientError(.connectionFailed, "attempt 4"))
        #expect(actions.suffix(2) == [.publish(.stopped(last)), .announceClosed(last)])
        #expect(world.machine.wakeUp == nil)
    }

    @Test func thePolicyLearnsCountTimeAndReason() {
        var world = World(reconnects: true)
        world.connect()
        world.close()
        _ = attempts(&world)
        let questions = world.take().compactMap { action -> (Int, Duration, HubFailure?)? in
            guard case .askRetryPolicy(let question, nil) = action else { return nil }
            let (count, elapsed, reason) = (question.retryCount, question.elapsed, question.reason)
            return (count, elapsed, reason)
        }
        #expect(questions.map(\.0) == [0, 1, 2, 3, 4])
        #expect(questions.map(\.1) == [.zero, .zero, .seconds(2), .seconds(12), .seconds(42)])
        #expect(
            questions.map(\.2)
                == [.test] + (1...4).map { .client(SignalRClientError(.connectionFailed, "attempt \($0)")) }
        )
    }

    @Test func aPolicyThatSaysNoAtFirstEndsTheConnection() {
        var world = World(reconnects: true)
        world.connect()
        world.close()
        _ = world.take()
        world.decide(nil)
        #expect(world.take() == [.publish(.stopped(.test)), .announceClosed(.test)])
    }

    @Test func successResetsTheCount() throws {
        var world = World(reconnects: true)
        world.connect()
        world.close()
        world.decide(.zero)
        world.advance(by: .zero)
        world.fail()
        world.decide(.seconds(1))
        world.advance(by: .seconds(1))
        world.open(TransportInfo(connectionID: "d", transport: .webSockets))
        _ = world.take()
        world.receiveHandshake()
        #expect(
            world.take().suffix(2) == [
                .publish(.connected(TransportInfo(connectionID: "d", transport: .webSockets))), .announceReconnected,
            ]
        )
        world.advance(by: .seconds(1))
        world.close(nil)
        let question = try #require(world.questions.last)
        #expect(world.take() == [.askRetryPolicy(.init(question, retryCount: 0, elapsed: .zero, reason: nil))])
    }

    @Test func callsDuringTheOutageFailAtOnce() {
        var world = World(reconnects: true)
        world.connect()
        let pending = [world.invoke(), world.stream()]
        _ = world.take()
        world.close()
        #expect(world.take().prefix(2) == pending.map { .finishCall($0, .failure(.test)) }[...])
        world.decide(.seconds(2))
        _ = world.take()
        let call = world.invoke()
        guard case .finishCall(call, .failure(.signalR(.invalidOperation(let text)))) = world.take().last else {
            return #expect(Bool(false), "The call has not failed.")
        }
        #expect(text.contains("the client is reconnecting"))
    }

    @Test func aFailedHandshakeIsGivenToThePolicy() throws {
        var world = World(reconnects: true)
        world.connect()
        world.close()
        world.decide(.zero)
        world.advance(by: .zero)
        world.open()
        _ = world.take()
        world.receive(bytes: Handshake.response(error: "no"))
        let question = try #require(world.questions.last)
        #expect(
            world.take().last
                == .askRetryPolicy(
                    .init(question, retryCount: 1, elapsed: .zero, reason: .signalR(.handshakeError("no")))
                )
        )
    }

    @Test func stopEndsTheOutage() throws {
        for step in 0..<4 {
            var world = World(reconnects: true)
            world.connect()
            world.close()
            if step > 0 { world.decide(.seconds(2)) }
            if step > 1 { world.advance(by: .seconds(2)) }
            if step > 2 { world.open() }
            _ = world.take()
            let stop = world.stop()
            let actions = world.take()
            #expect(actions.suffix(3) == [.publish(.stopped(nil)), .announceClosed(nil), .finishStop(stop)])
            #expect(actions.count == (step > 1 ? 4 : 3))
            #expect(world.machine.wakeUp == nil)
            // The machine ignores inputs that come after the stop.
            world.decide(.zero)
            world.open()
            #expect(world.take() == [])
        }
    }

    @Test func aMessageThatBreaksTheProtocolLosesTheConnection() throws {
        var world = World(reconnects: true)
        world.connect()
        world.receive(bytes: Array(#"{"type":1,"target":"good","arguments":[]}"#.utf8) + [0x1E, 0x7B, 0x1E])
        let actions = world.take()
        guard case .deliver(let call, _) = try #require(actions.first) else { throw HubFailure.test }
        #expect(call.target == "good")
        guard case .askRetryPolicy(let question, nil) = try #require(actions.last),
            case .client(let error) = question.reason
        else {
            throw HubFailure.test
        }
        #expect(error.code == .protocolViolation)
    }
}
