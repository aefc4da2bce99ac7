import PusherProtocol
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Faults on demand", .limited)
struct FaultTests {
    @Test("each fault makes new connections fail in its own way")
    func connectionFaults() {
        var server = BrainTranscript()
        let faults: [(PusherTestServer.ConnectionFault, [ServerAction])] = [
            (.refused(status: 503), [.refuse(id(1), status: 503, body: "refused with 503, as requested")]),
            (.stalled, []),
            (.dropped, [.end(3)]),
            (.silent, [.accept(4)]),
            (.closed(code: 4200), [.accept(5), .close(5, 4200, ""), .scheduleClose(1)]),
            (.closed(code: nil), [.accept(6), .close(6, nil, ""), .scheduleClose(2)]),
            (
                .closedAfterHandshake(code: 4100, reason: "full"),
                [.accept(7), .established(7), .close(7, 4100, "full"), .scheduleClose(3)]
            ),
            (.error(code: 4004, message: "m"), [.accept(8), .error(8, "m", code: "4004"), .end(8)]),
            (.firstMessage("nonsense"), [.accept(9), .send(9, "nonsense")]),
        ]
        for (fault, _) in faults { _ = server.brain.failConnections(count: 1, with: fault) }
        for (index, fault) in faults.enumerated() { #expect(server.connect(index + 1) == fault.1) }
        #expect(server.connect(10) == [.accept(10), .established(10)])
    }

    @Test("a first message with a socket id establishes the connection with this id")
    func chosenSocketID() throws {
        var server = BrainTranscript()
        let greeting = #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"46.12\"}"}"#
        _ = server.brain.failConnections(count: 1, with: .firstMessage(greeting))
        let requested = Request(target: "/app/app-key")
        let actions = server.brain.connectionRequested(id(1), requested)
        #expect(actions.withoutRecords == [.accept(1), .send(1, greeting)])
        let recorded = actions.compactMap { action -> String? in
            if case .record(let socketID, _) = action { socketID } else { nil }
        }
        #expect(recorded == Array(repeating: "46.12", count: 4))
        let connection = try #require(server.brain.openConnections.first)
        #expect(connection.isEstablished && connection.socketID == "46.12")
        // Signatures and exclusions use this id.
        let auth = server.brain.options.application.authorization(
            socketID: "46.12",
            channel: "private-a",
            channelData: nil,
            masterKey: nil
        ).auth
        let subscribe = Envelope.subscribe(channel: "private-a", auth: auth)
        #expect(server.text(1, subscribe.jsonText) == [.succeeded(1, "private-a")])
        #expect(server.brain.send(.text("x"), .socket("46.12")).withoutRecords == [.send(1, "x")])
        #expect(try server.publish("e", "{}", ["private-a"], excluding: "46.12").isEmpty)
        #expect(server.brain.connectionEnded(id(1)).last == .record(socketID: "46.12", .connectionEnded))
        #expect(server.connect(2) == [.accept(2), .established(2)])
    }

    @Test(
        "a first message that is not a greeting does not establish the connection",
        arguments: [
            "nonsense", #"{"event":"pusher:connection_established"}"#,
            #"{"event":"pusher:connection_established","data":{"socket_id":"x"}}"#,
            #"{"event":"news","data":{"socket_id":"1.2"}}"#,
        ]
    )
    func noGreeting(text: String) {
        var server = BrainTranscript()
        _ = server.brain.failConnections(count: 1, with: .firstMessage(text))
        #expect(server.connect(1) == [.accept(1), .send(1, text)])
        #expect(server.brain.openConnections.map(\.isEstablished) == [false])
        #expect(server.brain.openConnections.map(\.socketID) == ["7.1"])
    }

    @Test("a fault applies to the requested number of connections, or until a command ends it")
    func faultCounts() {
        var server = BrainTranscript()
        _ = server.brain.failConnections(count: 2, with: .stalled)
        #expect((1...3).map { server.connect($0).isEmpty } == [true, true, false])
        _ = server.brain.failConnections(count: nil, with: .stalled)
        #expect((4...6).map { server.connect($0).isEmpty } == [true, true, true])
        _ = server.brain.acceptConnections()
        #expect(server.connect(7) == [.accept(7), .established(7)])
        #expect(server.brain.dropConnections(.all).withoutRecords.count == 7)
    }

    @Test("a silent server reads, but sends nothing")
    func silence() throws {
        var server = BrainTranscript()
        _ = server.connect(1)
        _ = server.subscribe(1, "a")
        _ = server.brain.setSilent(true, .all)
        #expect(server.text(1, Envelope.ping.jsonText).isEmpty)
        #expect(server.receive(1, .ping([])).isEmpty)
        #expect(server.subscribe(1, "b").isEmpty)
        #expect(try server.publish("e", "{}", ["a"]).isEmpty)
        #expect(server.connect(2) == [.accept(2)])
        _ = server.brain.setSilent(false, .all)
        #expect(server.text(1, Envelope.ping.jsonText).events == [EventName.pong])
        #expect(server.connect(3) == [.accept(3), .established(3)])
        _ = server.brain.setSilent(true, .socket("7.1"))
        #expect(server.text(1, Envelope.ping.jsonText).isEmpty)
        #expect(server.text(3, Envelope.ping.jsonText).events == [EventName.pong])
        #expect(server.receive(1, .close(code: 1000, reason: "")).isEmpty)
    }

    @Test("a delay applies to all messages and keeps their order")
    func delay() {
        var server = BrainTranscript()
        _ = server.brain.setDelay(.seconds(2))
        #expect(server.connect(1) == [.accept(1), .schedule(timer(1), after: .seconds(2))])
        _ = server.brain.setDelay(.seconds(1))
        #expect(server.subscribe(1, "a") == [.schedule(timer(2), after: .seconds(1))])
        _ = server.brain.setDelay(.zero)
        #expect(server.text(1, Envelope.ping.jsonText).isEmpty)
        #expect(server.fire(2).isEmpty)
        #expect(
            server.fire(1).events == [
                EventName.connectionEstablished, EventName.subscriptionSucceededInternal, EventName.pong,
            ]
        )
        #expect(server.text(1, Envelope.ping.jsonText).events == [EventName.pong])
    }

    @Test("dropConnections does not wait for delayed messages")
    func dropWhileDelayed() {
        var server = BrainTranscript()
        _ = server.brain.setDelay(.seconds(2))
        _ = server.connect(1)
        #expect(server.brain.dropConnections(.all).withoutRecords == [.end(1)])
        #expect(server.fire(1).isEmpty)
    }

    @Test("dropConnections does not wait for a delayed close")
    func dropWhileEnding() {
        var server = BrainTranscript()
        _ = server.connect(1)
        _ = server.brain.setDelay(.seconds(60))
        #expect(server.receive(1, .close(code: 1000, reason: "")).withoutRecords.contains(.end(1)) == false)
        #expect(server.brain.dropConnections(.all).withoutRecords == [.end(1)])
        #expect(server.brain.dropConnections(.all).withoutRecords.isEmpty)
    }

    @Test("each fault makes subscriptions fail in its own way")
    func subscriptionFaults() {
        var server = BrainTranscript()
        _ = server.connect(1)
        _ = server.brain.failSubscriptions(to: "a", with: .unanswered)
        #expect(server.subscribe(1, "a").isEmpty)
        _ = server.brain.failSubscriptions(to: "a", with: .error(code: 4009, message: "no"))
        #expect(server.subscribe(1, "a") == [.error(1, "no", code: "4009")])
        _ = server.brain.failSubscriptions(to: "a", with: .subscriptionError(message: "no"))
        #expect(server.subscribe(1, "a").events == [EventName.subscriptionError])
        #expect(server.brain.subscriptionCount(of: "a") == 0)
        _ = server.brain.failSubscriptions(to: "a", with: nil)
        #expect(server.subscribe(1, "a") == [.succeeded(1, "a")])
    }

    @Test("the server answers subscriptions to one channel or to all channels with a given message")
    func subscriptionTexts() throws {
        var server = BrainTranscript()
        _ = server.connect(1)
        _ = server.brain.failSubscriptions(to: nil, with: .text("any text"))
        _ = server.brain.failSubscriptions(to: "b", with: .unanswered)
        #expect(server.subscribe(1, "a") == [.send(1, "any text")])
        #expect(server.subscribe(1, "private-x") == [.send(1, "any text")])
        #expect(server.subscribe(1, "b").isEmpty)
        #expect(server.brain.subscribers.isEmpty)
        _ = server.brain.failSubscriptions(to: nil, with: nil)
        #expect(server.subscribe(1, "a") == [.succeeded(1, "a")])
        #expect(server.subscribe(1, "b").isEmpty)
    }

    @Test("a given message that confirms the subscription subscribes the connection once")
    func subscriptionSuccessText() throws {
        var server = BrainTranscript()
        _ = server.connect(1)
        let text =
            #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-a","data":"{\"presence\":{}}"}"#
        _ = server.brain.failSubscriptions(to: nil, with: .text(text))
        for _ in 1...2 { #expect(server.subscribe(1, "presence-a") == [.send(1, text)]) }
        #expect(server.subscribe(1, "presence-b") == [.send(1, text)])
        #expect(server.brain.openConnections.first?.subscribedChannels == ["presence-a"])
        #expect(server.brain.presenceMembers(of: "presence-a").isEmpty)
        #expect(try server.publish("e", "{}", ["presence-a"]).events == ["e"])
        #expect(server.unsubscribe(1, "presence-a").isEmpty)
        #expect(server.brain.subscriptionCount(of: "presence-a") == 0)
    }

    @Test("sendText sends any text to any connection")
    func sending() {
        var server = BrainTranscript()
        for number in 1...3 { _ = server.connect(number) }
        _ = server.subscribe(2, "a")
        #expect(server.brain.send(.text("x"), .all).withoutRecords == [.send(1, "x"), .send(2, "x"), .send(3, "x")])
        #expect(server.brain.send(.binary([1]), .subscribers(of: "a")) == [.send(id(2), .binary([1]))])
        #expect(server.brain.send(.rawBytes([1]), .socket("7.3")) == [.send(id(3), .rawBytes([1]))])
        #expect(server.brain.send(.text("x"), .socket("0.0")).isEmpty)
        let event = #"{"event":"pusher_internal:x","channel":"a"}"#
        #expect(
            server.brain.sendEvent("pusher_internal:x", data: nil, channel: "a", .socket("7.1")).withoutRecords
                == [.send(1, event)]
        )
    }

    @Test(
        "sendError uses the dialect's form, with and without a code",
        arguments: [
            (PusherTestServer.Dialect.pusher, #"{"code":4200,"message":"no"}"#, #"{"code":null,"message":"no"}"#),
            (.slanger, #""{\"code\":4200,\"message\":\"no\"}""#, #""{\"message\":\"no\"}""#),
        ]
    )
    func errors(dialect: PusherTestServer.Dialect, coded: String, uncoded: String) {
        var server = BrainTranscript { $0.dialect = dialect }
        _ = server.connect(1)
        for (code, data) in [(4200, coded), (nil, uncoded)] {
            let sent = server.brain.sendError(code: code, message: "no", channel: nil, .all).withoutRecords
            #expect(sent == [.send(1, #"{"event":"pusher:error","data":\#(data)}"#)])
        }
    }

    @Test("the server pings silent clients, and closes the connection with 4201 if the client does not answer")
    func pings() {
        var server = BrainTranscript { $0.pingInterval = .seconds(60) }
        let ping = #"{"event":"pusher:ping","data":"{}"}"#
        #expect(server.connect(1) == [.accept(1), .established(1), .schedule(timer(1), after: .seconds(60))])
        #expect(
            server.text(1, Envelope.pong.jsonText) == [.cancel(timer(1)), .schedule(timer(2), after: .seconds(60))]
        )
        #expect(server.fire(1).isEmpty)
        #expect(server.fire(2) == [.send(1, ping), .schedule(timer(3), after: .seconds(30))])
        #expect(
            server.text(1, Envelope.pong.jsonText) == [.cancel(timer(3)), .schedule(timer(4), after: .seconds(60))]
        )
        #expect(server.fire(4) == [.send(1, ping), .schedule(timer(5), after: .seconds(30))])
        let message = "Pong reply not received in time"
        #expect(server.fire(5) == [.close(1, 4201, message), .schedule(timer(6), after: .seconds(5))])
    }
}
