import RealtimePrimitives
import SignalRCore
import TestTraits
import Testing

@Suite(.limited) struct ResumingTests {
    func connected(reconnects: Bool = true, bufferSize: Int = 100_000) -> World {
        var world = World(reconnects: reconnects) { $0.resumptionBufferSize = bufferSize }
        world.connect(.resumable)
        return world
    }

    func item(_ number: Int) -> HubMessage { .invocation(HubInvocation(target: "\(number)")) }

    @Test func acknowledgesASecondAfterAMessage() {
        var world = connected()
        world.receive(item(1), .ping)
        world.advance(by: .milliseconds(500))
        world.receive(item(2), item(3))
        _ = world.take()
        world.advance(by: .milliseconds(499))
        #expect(world.take() == [])
        world.advance(by: .milliseconds(1))
        #expect(world.take().written == [.ack(3)])
        world.advance(by: .seconds(5))
        #expect(world.take() == [])
        world.receive(item(4))
        world.advance(by: .seconds(1))
        #expect(world.take().written == [.ack(4)])
    }

    @Test func replaysWhatWasNotAcknowledged() throws {
        var world = connected()
        let calls = [world.invoke("a"), world.invoke("b"), world.stream("c")]
        world.receive(.ack(1))
        _ = world.take()
        world.close()
        #expect(world.take() == [.publish(.resuming(.resumable))])
        #expect(world.machine.state == .connected)
        // There is no transport, so the client only keeps the message.
        let send = world.send("d")
        #expect(world.take() == [.finishSend(send, nil)])
        world.advance(by: .zero)
        #expect(world.take() == [.reopen(try #require(world.attempts.last))])
        world.open(.resumable)
        #expect(
            world.take().written == [
                .sequence(2), .invocation(HubInvocation(id: "\(calls[1])", target: "b")),
                .streamInvocation(HubInvocation(id: "\(calls[2])", target: "c")),
                .invocation(HubInvocation(target: "d")),
            ]
        )
        // The client ignores all other messages until the server's Sequence message.
        world.receive(item(7), .completion(id: "\(calls[0])", .void))
        #expect(world.take() == [])
        world.receive(.sequence(1), .completion(id: "\(calls[0])", .void))
        #expect(world.take() == [.publish(.resumed(.resumable)), .finishCall(calls[0], .success(.void))])
        world.finishAll()
        #expect(world.violations == [])
    }

    @Test func dropsDuplicates() {
        var world = connected()
        world.receive(item(1), item(2), item(3))
        world.advance(by: .seconds(1))
        world.close()
        world.advance(by: .zero)
        world.open(.resumable)
        _ = world.take()
        world.receive(.sequence(2), item(2), item(3), item(4))
        let delivered = world.take().compactMap { action in
            if case .deliver(let call, _) = action { call.target } else { nil }
        }
        #expect(delivered == ["4"])
        world.advance(by: .seconds(1))
        #expect(world.take().written == [.ack(4)])
    }

    @Test func aSecondLossDuringAReplayLosesNothing() {
        var world = connected()
        world.receive(item(1), item(2), item(3))
        world.close()
        world.advance(by: .zero)
        world.open(.resumable)
        // A loss ends the replay after one message. The next replay begins with the fourth message, as if the server
        // had received the acknowledgement of the first three.
        world.receive(.sequence(1), item(1))
        world.advance(by: .milliseconds(999))
        world.close()
        world.advance(by: .zero)
        world.open(.resumable)
        _ = world.take()
        world.receive(.sequence(4), item(4))
        #expect(world.take().contains { if case .deliver(let call, _) = $0 { call.target == "4" } else { false } })
    }

    @Test func aSequenceThatIsTooLargeLosesTheConnection() {
        var world = connected(reconnects: false)
        world.receive(item(1))
        world.close()
        world.advance(by: .zero)
        world.open(.resumable)
        world.receive(.sequence(3))
        let text = "Sequence ID greater than amount of messages we've received."
        #expect(world.take().last == .announceClosed(.client(SignalRClientError(.sequenceError, text))))
    }

    @Test func messagesWaitWhileTheBufferIsFull() {
        let size = HubProtocol.json.encode(item(1)).count
        var world = connected(bufferSize: 2 * size)
        for number in 1...4 { world.send("\(number)") }
        #expect(world.take().written == [item(1), item(2)])
        world.receive(.ack(1))
        #expect(world.take().written == [item(3)])
        world.receive(.ack(3))
        #expect(world.take().written == [item(4)])
        // The client also sends a ping, which neither side counts.
        world.advance(by: .seconds(15))
        #expect(world.take().written == [.ping])
    }

    /// Answers a call of the server with 1 MiB. Returns the actions.
    private func answer(_ world: inout World) throws -> [HubStateMachine.Action] {
        world.receive(.invocation(HubInvocation(id: "1", target: "x")))
        let session = try #require(world.lastSession)
        _ = world.take()
        let result = json("\"\(String(repeating: "x", count: 1 << 20))\"")
        world.input { $0.answer(.value(result), to: "1", of: session, now: $1) }
        return world.take()
    }

    @Test func theBufferIsAtMost16MiB() throws {
        var world = connected(bufferSize: .max)
        for _ in 0..<16 { #expect(try answer(&world).count == 1) }
        #expect(try answer(&world) == [])
        world.receive(.ack(1))
        #expect(world.take().count == 1)
    }

    @Test func aServerThatAcknowledgesNothingCannotFillTheMemory() throws {
        var world = connected(bufferSize: 1)
        world.send("first")
        for _ in 0..<15 { #expect(try answer(&world) == []) }
        let waiting = world.send("last")
        #expect(world.take() == [])
        let actions = try answer(&world)
        let text = "Send buffer full: more than 16777216 bytes wait for the server."
        let failure = HubFailure.client(SignalRClientError(.transportClosed, text))
        #expect(actions.first == .finishSend(waiting, failure))
        guard case .askRetryPolicy(let question, nil) = actions.last, question.reason == failure else {
            return #expect(Bool(false), "the connection is not lost")
        }
    }

    @Test func callsThatWaitForTheBufferFailWithTheConnection() {
        var world = connected(reconnects: false, bufferSize: 1)
        world.send("1")
        let waiting = world.send("2")
        world.receive(.close(error: nil, allowReconnect: false))
        #expect(world.take().contains(.finishSend(waiting, .callEnded)))
    }

    @Test func triesFourTimesWithinTenSeconds() {
        var world = connected()
        let call = world.invoke()
        world.advance(by: .seconds(3))
        world.close()
        let loss = world.now
        var times: [Duration] = []
        while world.machine.state == .connected, let due = world.machine.wakeUp {
            world.advance(by: due - world.now)
            times.append(world.now - loss)
            world.fail()
        }
        #expect(times == [.zero, .seconds(1), .seconds(3), .seconds(6)])
        #expect(world.calls == [])
        #expect(world.machine.state == .reconnecting)
        guard case .askRetryPolicy(let question, nil) = world.take().last, question.retryCount == 0 else {
            return #expect(Bool(false), "The ordinary reconnect has not begun after \(call).")
        }
    }

    @Test func aTryThatHangsEndsAfterTenSeconds() {
        for opens in [false, true] {
            var world = connected()
            world.close()
            world.advance(by: .zero)
            if opens { world.open(.resumable) }
            world.advance(by: .milliseconds(9_999))
            #expect(world.machine.state == .connected)
            world.advance(by: .milliseconds(1))
            #expect(world.machine.state == .reconnecting)
        }
    }

    @Test func aServerThatHasForgottenTheConnectionEndsTheTries() {
        var world = connected()
        world.close()
        world.advance(by: .zero)
        world.fail(.client(SignalRClientError(.connectionFailed, "404", httpStatus: 404)))
        #expect(world.machine.state == .reconnecting)
    }

    @Test func aSecondLossGoesOnWithTheTries() {
        var world = connected()
        world.close()
        world.advance(by: .zero)
        world.open(.resumable)
        world.close()
        _ = world.take()
        world.advance(by: .seconds(1))
        world.open(.resumable)
        #expect(world.take().written == [.sequence(1)])
        world.receive(.sequence(1))
        // The connection's timers are running again.
        world.advance(by: .seconds(15))
        #expect(world.take().written == [.ping])
    }

    @Test func stopEndsTheTries() {
        for step in 0..<3 {
            var world = connected()
            world.close()
            if step > 0 { world.advance(by: .zero) }
            if step > 1 { world.open(.resumable) }
            world.finishAll()
            #expect(world.violations == [])
        }
    }

    @Test func aCloseOfTheServerIsNotResumed() {
        var world = connected(reconnects: false)
        world.receive(.close(error: nil, allowReconnect: true))
        world.close()
        #expect(world.take().last == .announceClosed(nil))
        #expect(world.machine.state == .stopped)
    }

    // MARK: Acknowledging

    /// Loses the transport, and resumes the connection at once. The server's next message has the number.
    private func resume(_ world: inout World, next number: UInt64) {
        world.close()
        world.advance(by: .zero)
        world.open(.resumable)
        world.receive(.sequence(number))
    }

    @Test func acknowledgesAtOnceAfterAResumption() {
        var world = connected()
        for number in 1...10 {
            world.receive(item(number))
            world.advance(by: .milliseconds(900))
            _ = world.take()
            resume(&world, next: UInt64(number) + 1)
            #expect(world.take().written == [.sequence(1), .ack(UInt64(number))])
        }
        // The acknowledgement that was due after the last message is the one above.
        world.advance(by: .seconds(2))
        #expect(world.take() == [])
    }

    @Test func aResumptionWithoutMessagesAcknowledgesNothing() {
        var world = connected()
        resume(&world, next: 1)
        #expect(world.take().written == [.sequence(1)])
    }

    @Test func acknowledgesAgainIfTheServerRepeatsOnlyKnownMessages() {
        var world = connected()
        world.receive(item(1), item(2))
        world.advance(by: .seconds(1))
        resume(&world, next: 1)
        _ = world.take()
        world.receive(item(1))
        world.advance(by: .seconds(2))
        #expect(world.take() == [])
        world.receive(item(2))
        world.advance(by: .seconds(1))
        #expect(world.take().written == [.ack(2)])
    }

    @Test func acknowledgesAtOnceAfter32Kilobytes() {
        var world = connected()
        let text = String(repeating: "x", count: 10_000)
        func large(_ number: Int) -> HubMessage {
            .invocation(HubInvocation(target: "\(number)", arguments: [json("\"\(text)\"")]))
        }
        for round in 0..<5 {
            let first = round * 4
            world.receive(large(first + 1), large(first + 2), large(first + 3))
            #expect(world.take().written == [])
            world.receive(large(first + 4))
            #expect(world.take().written == [.ack(UInt64(first + 4))])
        }
        world.advance(by: .seconds(5))
        #expect(world.take() == [])
    }

    // MARK: Limits

    @Test func moreThan16MiBMayWaitOneAfterTheOther() throws {
        var world = connected(bufferSize: 1)
        world.send("first")
        for number in 1...20 {
            #expect(try answer(&world) == [])
            world.receive(.ack(UInt64(number)))
            // The acknowledged message makes space for the answer.
            #expect(world.take().count == 1)
        }
        #expect(world.machine.state == .connected)
    }

    @Test func theTimeoutOfASilentServerDoesNotEndTheResumption() {
        var world = connected()
        world.advance(by: .seconds(25))
        world.close()
        world.advance(by: .seconds(6))
        // The new transport opens 31 s after the server's last message.
        world.open(.resumable)
        world.advance(by: .seconds(3))
        #expect(world.machine.state == .connected)
        world.receive(.sequence(1))
        // From now on, the server has another 30 s.
        world.advance(by: .milliseconds(29_999))
        #expect(world.machine.state == .connected)
    }
}
