import SignalRCore
import TestTraits
import Testing

@Suite(.limited) struct CallTests {
    func connected(_ hubProtocol: HubProtocol = .json) -> World {
        var world = World(hubProtocol)
        world.connect()
        return world
    }

    @Test func invocationsEndWithTheirCompletions() {
        var world = connected()
        let calls = (0..<4).map { _ in world.invoke("Add") }
        #expect(world.take().written == calls.map { .invocation(HubInvocation(id: "\($0)", target: "Add")) })
        world.receive(
            .completion(id: "\(calls[1])", .error("no")),
            .completion(id: "\(calls[0])", .value(json("42"))),
            .completion(id: "\(calls[2])", .void),
            .completion(id: "\(calls[0])", .void)
        )
        #expect(
            world.take() == [
                .finishCall(calls[1], .failure(.signalR(.invocationError("no")))),
                .finishCall(calls[0], .success(.value(json("42")))), .finishCall(calls[2], .success(.void)),
                .ignored("a completion of a call that is not waiting"),
            ]
        )
        #expect(world.calls == [calls[3]])
    }

    @Test func sendsHaveNoIDAndReturnWhenWritten() throws {
        var world = connected()
        let send = world.send("Say")
        let attempt = try #require(world.attempts.last)
        let bytes = HubProtocol.json.encode(.invocation(HubInvocation(target: "Say")))
        #expect(world.take() == [.write(attempt, bytes, receipt: send)])
    }

    @Test func itemsComeInOrderBeforeTheEnd() {
        var world = connected()
        let stream = world.stream()
        _ = world.take()
        world.receive(
            .streamItem(id: "\(stream)", item: json("0")),
            .streamItem(id: "\(stream)", item: json("1")),
            .completion(id: "\(stream)", .error("broken")),
            .streamItem(id: "\(stream)", item: json("2"))
        )
        #expect(
            world.take() == [
                .deliverItem(stream, json("0")), .deliverItem(stream, json("1")),
                .finishCall(stream, .failure(.signalR(.invocationError("broken")))),
                .ignored("an item of a stream that is not open"),
            ]
        )
    }

    @Test func theResultOfAStreamIsIgnored() {
        var world = connected()
        let stream = world.stream()
        _ = world.take()
        world.receive(.completion(id: "\(stream)", .value(json("7"))))
        #expect(world.take() == [.finishCall(stream, .success(.void))])
    }

    @Test func anItemForAnInvocationIsAnErrorOfThatCall() {
        var world = connected()
        let (call, other) = (world.invoke(), world.invoke())
        _ = world.take()
        world.receive(.streamItem(id: "\(call)", item: json("0")), .completion(id: "\(other)", .void))
        #expect(
            world.take() == [
                .finishCall(
                    call,
                    .failure(
                        .signalR(
                            .unexpectedMessageType("the method answers with a stream. Call stream(method:arguments:).")
                        )
                    )
                ),
                .finishCall(other, .success(.void)),
            ]
        )
    }

    @Test func cancelledCallsTellTheServerOnce() {
        var world = connected()
        let calls = [world.invoke(), world.stream()]
        for call in calls {
            _ = world.take()
            world.input { $0.cancelCall(call, now: $1) }
            let actions = world.take()
            #expect(actions.written == [.cancelInvocation(id: "\(call)")])
            #expect(actions.last == .finishCall(call, .failure(.cancelled)))
            world.input { $0.cancelCall(call, now: $1) }
            #expect(world.take() == [])
            world.receive(.completion(id: "\(call)", .void))
            #expect(world.take() == [.ignored("a completion of a call that is not waiting")])
        }
    }

    @Test(arguments: ["", "x", "-1", "99999999999999999999", "\u{0}", "7"])
    func unknownIDsAreIgnored(_ id: String) {
        for hubProtocol in [HubProtocol.json, .messagePack] {
            var world = connected(hubProtocol)
            world.receive(
                .completion(id: id, .void),
                .streamItem(id: id, item: hubProtocol.null),
                .cancelInvocation(id: id),
                .ack(.max),
                .sequence(.max)
            )
            #expect(world.take().count == 3)
            #expect(world.machine.state == .connected)
        }
    }

    // MARK: Uploads

    @Test func uploadsFollowTheCallAndEnd() throws {
        var world = connected()
        let uploads = [CallID(1000), CallID(1001)]
        let call = world.invoke(uploads: uploads)
        let actions = world.take()
        #expect(
            actions.written == [.invocation(HubInvocation(id: "\(call)", target: "M", streamIDs: ["1000", "1001"]))]
        )
        #expect(actions.last == .beginUploads(uploads))
        let receipt = world.upload(uploads[0], json("5"))
        let attempt = try #require(world.attempts.last)
        let bytes = HubProtocol.json.encode(.streamItem(id: "1000", item: json("5")))
        #expect(world.take() == [.write(attempt, bytes, receipt: receipt)])
        world.input { $0.endUpload(uploads[0], error: nil, now: $1) }
        world.input { $0.endUpload(uploads[1], error: "broken", now: $1) }
        world.input { $0.endUpload(uploads[1], error: nil, now: $1) }
        #expect(
            world.take().written
                == [.completion(id: "1000", .void), .completion(id: "1001", .error("broken"))]
        )
        let late = world.upload(uploads[0])
        #expect(world.take() == [.finishSend(late, .callEnded)])
    }

    @Test func theEndOfACallEndsItsUploads() {
        var world = connected()
        let (mine, others) = (CallID(1000), CallID(1001))
        let call = world.invoke(uploads: [mine])
        world.send(uploads: [others])
        _ = world.take()
        world.receive(.completion(id: "\(call)", .value(json("6"))))
        #expect(world.take() == [.cancelUpload(mine), .finishCall(call, .success(.value(json("6"))))])
        world.close()
        #expect(world.take().first == .cancelUpload(others))
    }

    // MARK: Calls of the server

    @Test func callsOfTheServerAreAnsweredOnTheirOwnConnection() throws {
        var world = World(reconnects: true)
        world.connect()
        let invocation = HubInvocation(id: "s1", target: "Ask", arguments: [json("1")])
        world.receive(.invocation(invocation))
        let session = try #require(world.lastSession)
        #expect(world.take() == [.deliver(invocation, session)])
        world.input { $0.answer(.value(json("2")), to: "s1", of: session, now: $1) }
        #expect(world.take().written == [.completion(id: "s1", .value(json("2")))])
        world.close()
        world.decide(.zero)
        world.advance(by: .zero)
        world.open()
        world.receiveHandshake()
        _ = world.take()
        world.input { $0.answer(.value(json("2")), to: "s1", of: session, now: $1) }
        #expect(world.take() == [])
    }

    @Test func messagesThatOnlyClientsSendAreIgnored() {
        var world = connected()
        world.receive(.streamInvocation(HubInvocation(id: "1", target: "x")), .cancelInvocation(id: "1"), .ping)
        #expect(world.take() == Array(repeating: .ignored("a message that only clients send"), count: 2))
    }

    @Test func anAppThatIsTooSlowLosesTheConnection() throws {
        var world = connected()
        world.receive(.invocation(HubInvocation(target: "x")))
        let session = try #require(world.lastSession)
        world.input { $0.overflowed(session, "too slow", now: $1) }
        #expect(world.take().last == .announceClosed(.client(SignalRClientError(.receiveBufferFull, "too slow"))))
    }
}
