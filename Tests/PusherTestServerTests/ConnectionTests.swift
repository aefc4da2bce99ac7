import PusherProtocol
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("The beginning and the end of connections", .limited)
struct ConnectionTests {
    @Test(
        "the server sends a socket id for a known key",
        arguments: ["/app/app-key", "/app/app-key?protocol=7", "/a/b/app/app-key"]
    )
    func establishes(target: String) {
        var server = BrainTranscript()
        #expect(server.connect(1, target) == [.accept(1), .established(1)])
        #expect(server.connect(2, target) == [.accept(2), .established(2)])
    }

    @Test("a client with an unknown key gets error 4001 and a close frame with this code")
    func unknownKey() {
        var server = BrainTranscript()
        let message = "App key other not in this cluster. Did you forget to specify the cluster?"
        #expect(
            server.connect(1, "/app/other")
                == [.accept(1), .error(1, message, code: "4001"), .close(1, 4001, message), .scheduleClose(1)]
        )
        var poxa = BrainTranscript { $0.dialect = .poxa }
        #expect(poxa.connect(1, "/app/other") == [.accept(1), .close(1, 4001, message), .scheduleClose(1)])
    }

    @Test("each dialect closes an established connection in its own way")
    func terminations() {
        let message = "You got disconnected by the app."
        let close = [ServerAction.close(1, 4009, message), .scheduleClose(1)]
        let error = ServerAction.error(1, message, code: "4009")
        let errorText = ServerAction.send(
            1,
            #"{"event":"pusher:error","data":"{\"code\":4009,\"message\":\"\#(message)\"}"}"#
        )
        for (dialect, actions): (Dialect, [ServerAction]) in [
            (.pusher, close), (.soketi, [error] + close), (.pylon, [error] + close), (.ipe, [error, .end(1)]),
            (.slanger, [errorText, .close(1, nil, ""), .scheduleClose(1)]), (.reverb, [errorText, .end(1)]),
        ] {
            var server = BrainTranscript { options in
                options.dialect = dialect
                options.dialect.users.knowsSignIn = true
                options.dialect.appendsNewline = false
            }
            _ = server.connect(1)
            _ = server.signIn(1, #"{"id":"a"}"#)
            #expect(server.brain.terminateConnections(ofUser: "a").withoutRecords == actions)
        }
    }

    @Test("each dialect refuses connections in its own way")
    func refusals() {
        let message = "App key other not in this cluster. Did you forget to specify the cluster?"
        var reverb = BrainTranscript { $0.dialect = .reverb }
        let data = #"{\"code\":4001,\"message\":\"\#(message)\"}"#
        #expect(
            reverb.connect(1, "/app/other")
                == [.accept(1), .send(1, #"{"event":"pusher:error","data":"\#(data)"}"#), .end(1)]
        )
        var soketi = BrainTranscript { $0.dialect = .soketi }
        #expect(
            soketi.connect(1, "/app/other")
                == [.accept(1), .error(1, message, code: "4001"), .close(1, 4001, message), .scheduleClose(1)]
        )
        var slanger = BrainTranscript { $0.dialect = .slanger }
        #expect(
            slanger.connect(1, "/app/other")
                == [
                    .accept(1), .send(1, #"{"event":"pusher:error","data":"\#(data)"}"#),
                    .close(1, nil, ""), .scheduleClose(1),
                ]
        )
        var pusherFake = BrainTranscript { $0.dialect = .pusherFake }
        #expect(pusherFake.connect(1, "/app/other").events == [EventName.connectionEstablished])
    }

    @Test(
        "checksProtocolVersion makes the server check the query",
        arguments: [
            ("/app/app-key", 4008), ("/app/app-key?protocol=x", 4006), ("/app/app-key?protocol=", 4006),
            ("/app/app-key?protocol=3", 4007), ("/app/app-key?protocol=8", 4007), ("/other", 4005), ("/app/", 4005),
            ("/app/a/b", 4005), ("/app/app-key?protocol=99999999999999999999", 4006),
        ]
    )
    func protocolVersion(target: String, code: Int) {
        var server = BrainTranscript { $0.checksProtocolVersion = true }
        let closes = server.connect(1, target).compactMap { action -> Int? in
            if case .send(_, .close(let code, _)) = action { code } else { nil }
        }
        #expect(closes == [code])
    }

    @Test("echoesSubprotocol makes the server echo the subprotocol", arguments: [true, false])
    func subprotocol(isEchoed: Bool) {
        var server = BrainTranscript { $0.echoesSubprotocol = isEchoed }
        let header = HTTPHeader(name: "sec-websocket-protocol", value: "x, pusher-channels-protocol-7")
        let actions = server.brain.connectionRequested(id(1), Request(target: "/app/app-key", headers: [header]))
        #expect(
            actions.withoutRecords.first == .accept(id(1), subprotocol: isEchoed ? "pusher-channels-protocol-7" : nil)
        )
    }

    @Test("the greeting contains the activity_timeout that a test has set, or no activity_timeout")
    func activityTimeout() {
        var server = BrainTranscript { $0.activityTimeout = 30 }
        #expect(server.connect(1) == [.accept(1), .established(1, activityTimeout: 30)])
        _ = server.brain.setActivityTimeout(5)
        #expect(server.connect(2) == [.accept(2), .established(2, activityTimeout: 5)])
        _ = server.brain.setActivityTimeout(nil)
        let text = #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"7.3\"}"}"#
        #expect(server.connect(3) == [.accept(3), .send(3, text)])
    }

    @Test("the server answers a close frame with the same code and then closes the TCP connection")
    func clientCloses() {
        var server = BrainTranscript()
        _ = server.connect(1)
        #expect(server.receive(1, .close(code: 1000, reason: "bye")) == [.close(1, 1000, ""), .end(1)])
        #expect(server.receive(1, .text("{}")).isEmpty)
        #expect(server.brain.connectionEnded(id(1)) == [.record(socketID: "7.1", .connectionEnded)])
        #expect(server.brain.connectionEnded(id(1)).isEmpty)
        #expect(server.brain.openConnections.isEmpty)
    }

    @Test("the server waits a limited time for an answer to its close frame")
    func serverCloses() {
        var server = BrainTranscript()
        _ = server.connect(1)
        _ = server.connect(2)
        let actions = server.brain.closeConnections(.all, code: 4200, reason: "again").withoutRecords
        #expect(
            actions == [.close(1, 4200, "again"), .scheduleClose(1), .close(2, 4200, "again"), .scheduleClose(2)]
        )
        #expect(server.subscribe(1, "a").isEmpty)
        #expect(server.receive(1, .close(code: 4200, reason: "")) == [.cancel(timer(1)), .end(1)])
        #expect(server.fire(1).isEmpty)
        #expect(server.fire(2) == [.end(2)])
    }

    @Test("the server answers a violation of RFC 6455 with the right close code")
    func violation() {
        var server = BrainTranscript()
        _ = server.connect(1)
        let violation = ClientMessage.violation(code: 1007, reason: "text")
        #expect(server.receive(1, violation) == [.close(1, 1007, "text"), .scheduleClose(1)])
        #expect(server.receive(1, violation) == [.cancel(timer(1)), .end(1)])
    }

    @Test("the server closes or drops a connection without frames after the idle limit")
    func idleLimit() {
        var server = BrainTranscript { $0.dialect.idleLimit = .init(.seconds(30), ending: .close(code: 1000)) }
        #expect(server.connect(1) == [.accept(1), .established(1), .schedule(timer(1), after: .seconds(30))])
        server.brain.now = .seconds(10)
        #expect(server.receive(1, .pong([])) == [])
        server.brain.now = .seconds(30)
        #expect(server.fire(1) == [.schedule(timer(2), after: .seconds(10))])
        server.brain.now = .seconds(40)
        #expect(server.fire(2) == [.close(1, 1000, ""), .schedule(timer(3), after: .seconds(5))])
        #expect(server.connect(2).last == .schedule(timer(4), after: .seconds(30)))
        let shorter = server.brain.setIdleLimit(.init(.seconds(3)))
        #expect(shorter == [.cancel(timer(4)), .schedule(timer(5), after: .seconds(3))])
        server.brain.now = .seconds(43)
        #expect(server.fire(5) == [.end(2)])
        #expect(server.connect(3).last == .schedule(timer(6), after: .seconds(3)))
        #expect(server.brain.setIdleLimit(nil) == [.cancel(timer(6))])
        #expect(server.connect(4) == [.accept(4), .established(4)])
    }

    @Test("the server answers a WebSocket ping with a pong that has the same payload")
    func webSocketPing() {
        var server = BrainTranscript()
        _ = server.connect(1)
        #expect(server.receive(1, .ping([1, 2])) == [.send(id(1), .pong([1, 2]))])
        #expect(server.receive(1, .pong([])).isEmpty)
    }

    @Test("inputs for unknown connections have no effect")
    func unknownConnections() {
        var server = BrainTranscript()
        #expect(server.text(9, "{}").isEmpty)
        #expect(server.brain.connectionEnded(id(9)).isEmpty)
        #expect(server.fire(9).isEmpty)
    }
}

extension ServerAction {
    static func scheduleClose(_ number: Int) -> Self { .schedule(timer(number), after: .seconds(5)) }
}
