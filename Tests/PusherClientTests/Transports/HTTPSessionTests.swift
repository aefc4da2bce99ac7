import PusherProtocol
import TestTraits
import Testing

@testable import PusherClient

@Suite("The session of an HTTP transport", .limited)
struct HTTPSessionTests {
    /// A session, and a short transcript of its actions.
    private struct Session {
        var machine: HTTPSessionStateMachine
        var now = Instant(after: .seconds(1))

        init(_ mode: HTTPSessionStateMachine.Mode, sendBufferSize: Int = 1_000) {
            var generator = FixedGenerator()
            machine = HTTPSessionStateMachine(
                mode,
                at: HTTPTransportAddress(host: "server.test", port: 80, path: "/pusher/app/key", query: "protocol=7"),
                HTTPSessionName(using: &generator),
                sendBufferSize: sendBufferSize
            )
        }

        /// Returns a session that its first response has opened.
        static func opened(_ mode: HTTPSessionStateMachine.Mode, sendBufferSize: Int = 1_000) -> Self {
            var session = Session(mode, sendBufferSize: sendBufferSize)
            _ = session.machine.start(now: session.now)
            _ = session.machine.answered(1, status: 200, now: session.now)
            _ = session.machine.opened(hostname: nil, now: session.now)
            guard mode == .polling else { return session }
            _ = session.handled(2, of: 1)
            _ = session.machine.ended(1, now: session.now)
            _ = session.machine.answered(2, status: 200, now: session.now)
            return session
        }

        /// Returns a streaming session whose second response has begun.
        static func inHandover() -> Self {
            var session = opened(.streaming)
            _ = session.handled(300_000, of: 1)
            _ = session.does { $0.answered(2, status: 200, now: $1) }
            return session
        }

        mutating func handled(
            _ size: Int,
            hasMessages: Bool = false,
            isAtFrameEnd: Bool = true,
            of number: Int
        ) -> [String] {
            machine.handled(size: size, hasMessages: hasMessages, isAtFrameEnd: isAtFrameEnd, of: number, now: now)
                .map(describe)
        }

        mutating func does(
            _ input: (inout HTTPSessionStateMachine, Instant) -> [HTTPSessionStateMachine.Action]
        ) -> [String] {
            input(&machine, now).map(describe).filter { !$0.hasPrefix("send in ") && $0 != "no send" }
        }

        private func describe(_ action: HTTPSessionStateMachine.Action) -> String {
            switch action {
            case .receive(let number, let target): "receive \(number) \(describe(target))"
            case .setReading(let number, let isReading): "\(isReading ? "read" : "pause") \(number)"
            case .cancel(let number): "cancel \(number)"
            case .send(let target, let body, let count): "send \(count) \(body) \(describe(target))"
            case .sent: "sent"
            case .cancelSend: "cancel send"
            case .setTimer(let timer, let delay): "\(timer) in \(delay / .milliseconds(1))"
            case .cancelTimer(let timer): "no \(timer)"
            case .report(.opened): "opened"
            case .report(.closed(let closure)):
                "closed \(closure.code.map { String($0.rawValue) } ?? "-") "
                    + (closure.error.map { "\($0.code) \($0.serverCode.map { String($0) } ?? "-")" } ?? closure.reason)
            }
        }

        private func describe(_ target: HTTPTarget) -> String { "\(target.hostname ?? "")\(target.path)" }
    }

    private struct FixedGenerator: RandomNumberGenerator {
        mutating func next() -> UInt64 { .max }
    }

    private static let base = "/pusher/app/key/999/vvvvvvvv"
    private static func probe(_ number: Int) -> String { "send 0 [] \(base)/xhr_send?t=1000&n=\(number)" }
    private static let noTimers = ["no poll", "no handover"]

    @Test("only a response that ends or fails unexpectedly counts as an interruption")
    func interruptions() {
        let error = PusherClientError(.connectionClosed, "reset")
        typealias Input = (inout HTTPSessionStateMachine, Instant) -> [HTTPSessionStateMachine.Action]
        let inputs: [(Bool, Input)] = [
            (true, { $0.ended(1, now: $1) }),
            (true, { machine, _ in machine.failed(1, error) }),
            (
                true,
                {
                    $0.handled(size: 3, hasMessages: false, isAtFrameEnd: false, of: 1, now: $1) + $0.ended(1, now: $1)
                }
            ),
            (false, { machine, _ in machine.closedByServer(4200, reason: "bye") }),
            (false, { $0.opened(hostname: nil, now: $1) }),
            (false, { machine, _ in machine.violated(.invalidText) }),
            (false, { $0.send("a", now: $1) + $0.sendAnswered(status: 413, now: $1) }),
            (false, { $0.send("a", now: $1) + $0.sendFailed(error) }),
            (false, { $0.send("a", now: $1) + $0.timerFired(.send, now: $1) }),
            (false, { $0.close(code: 1000, now: $1) }),
        ]
        for (isInterruption, input) in inputs {
            var session = Session.opened(.streaming)
            var ends: [Bool] = []
            for case .report(.closed(let closure)) in input(&session.machine, session.now) {
                ends.append(closure.isInterruption)
            }
            #expect(ends == [isInterruption])
        }
    }

    @Test("a streaming session requests a response, and opens with the server's opening frame")
    func openStreaming() {
        var session = Session(.streaming)
        #expect(
            session.does { $0.start(now: $1) } == ["receive 1 \(Self.base)/xhr_streaming?protocol=7&t=1000&n=1"]
        )
        #expect(session.does { $0.answered(1, status: 200, now: $1) } == [])
        // The session does not answer the prelude, which looks like a heartbeat.
        #expect(session.does { $0.heartbeat(wantsAnswer: true, now: $1) } == [])
        #expect(session.does { $0.opened(hostname: nil, now: $1) } == ["opened"])
        #expect(session.machine.isOpen)
    }

    @Test("a polling session polls again as soon as a response has ended")
    func openPolling() {
        var session = Session(.polling)
        #expect(session.does { $0.start(now: $1) } == ["receive 1 \(Self.base)/xhr?protocol=7&t=1000&n=1"])
        _ = session.does { $0.answered(1, status: 200, now: $1) }
        #expect(session.does { $0.opened(hostname: nil, now: $1) } == ["opened"])
        #expect(session.handled(2, of: 1) == [])
        #expect(session.does { $0.ended(1, now: $1) } == ["receive 2 \(Self.base)/xhr?protocol=7&t=1000&n=2"])
        _ = session.does { $0.answered(2, status: 200, now: $1) }
        #expect(session.handled(20, hasMessages: true, of: 2) == [])
        #expect(session.does { $0.ended(2, now: $1) } == ["receive 3 \(Self.base)/xhr?protocol=7&t=1000&n=3"])
    }

    @Test("a polling session polls at most once a second if the server answers empty polls at once")
    func emptyPolls() {
        var session = Session.opened(.polling)
        session.now += .milliseconds(10)
        #expect(session.does { $0.ended(2, now: $1) } == ["poll in 990.0"])
        session.now += .milliseconds(990)
        #expect(
            session.does { $0.timerFired(.poll, now: $1) } == ["receive 3 \(Self.base)/xhr?protocol=7&t=2000&n=3"]
        )
        // A heartbeat after 25 s does not cause a wait.
        _ = session.does { $0.answered(3, status: 200, now: $1) }
        session.now += .seconds(25)
        #expect(session.does { $0.heartbeat(wantsAnswer: true, now: $1) } == [])
        #expect(session.does { $0.ended(3, now: $1) } == ["receive 4 \(Self.base)/xhr?protocol=7&t=27000&n=4"])
    }

    @Test("a session sends later requests to the host that the server has named")
    func hostname() {
        var session = Session(.polling)
        _ = session.does { $0.start(now: $1) }
        _ = session.does { $0.answered(1, status: 200, now: $1) }
        _ = session.does { $0.opened(hostname: "b.test", now: $1) }
        #expect(session.does { $0.ended(1, now: $1) } == ["receive 2 b.test\(Self.base)/xhr?protocol=7&t=1000&n=2"])
        #expect(
            session.does { $0.send("x", now: $1) } == [
                #"send 1 ["x"] b.test\#(Self.base)/xhr_send?t=1000&n=3"#
            ]
        )
    }

    @Test("a session runs one sending request at a time, and the next request contains all waiting messages")
    func send() {
        var session = Session.opened(.streaming)
        #expect(session.does { machine, _ in machine.queue(#"{"a":1}"#) } == [])
        #expect(
            session.does { $0.send("b", now: $1) }
                == [#"send 2 ["{\"a\":1}","b"] \#(Self.base)/xhr_send?t=1000&n=2"#]
        )
        #expect(session.does { $0.send("c", now: $1) } == [])
        #expect(session.does { $0.send("d", now: $1) } == [])
        #expect(
            session.does { $0.sendAnswered(status: 204, now: $1) }
                == ["sent", #"send 2 ["c","d"] \#(Self.base)/xhr_send?t=1000&n=3"#]
        )
        #expect(session.does { $0.sendAnswered(status: 200, now: $1) } == ["sent"])
        #expect(session.does { $0.flush(now: $1) } == [])
    }

    @Test("a sending request contains one long message, or several messages of at most 64 KiB together")
    func longBodies() {
        var session = Session.opened(.streaming, sendBufferSize: 1_000_000)
        let long = String(repeating: "x", count: 70_000)
        let half = String(repeating: "y", count: 40_000)
        var counts: [Int] = []
        func note(_ actions: [HTTPSessionStateMachine.Action]) {
            for case .send(_, let body, let count) in actions {
                counts.append(count)
                #expect(body.utf8.count <= 70_004)
            }
        }
        for message in [long, half, half, "z", "z"] { session.machine.send(message) }
        note(session.machine.flush(now: session.now))
        for _ in 0..<3 { note(session.machine.sendAnswered(status: 204, now: session.now)) }
        #expect(counts == [1, 1, 3])
    }

    @Test("the session loses the connection if a sending request gets no answer in time")
    func unansweredSend() {
        var session = Session.opened(.streaming)
        _ = session.does { $0.send("x", now: $1) }
        _ = session.does { $0.sendAnswered(status: 204, now: $1) }
        #expect(session.does { $0.timerFired(.send, now: $1) } == [])
        _ = session.does { $0.send("y", now: $1) }
        #expect(session.does { $0.timerFired(.send, now: $1) }.last?.hasPrefix("closed - connectionClosed") == true)
    }

    @Test(
        "the session loses the connection if the status of a sending request is not 200 or 204",
        arguments: [404, 500, 302, 0]
    )
    func refusedSend(status: Int) {
        var session = Session.opened(.streaming)
        _ = session.does { $0.send("x", now: $1) }
        #expect(
            session.does { $0.sendAnswered(status: status, now: $1) }
                == ["cancel 1", "cancel send"] + Self.noTimers + ["closed - connectionClosed 1006"]
        )
        #expect(session.machine.isClosed)
        #expect(session.does { $0.send("y", now: $1) } == [])
    }

    @Test("a burst of any size can wait for the answer to the current request")
    func burst() {
        var session = Session.opened(.streaming, sendBufferSize: 10)
        _ = session.does { $0.send("1", now: $1) }
        for _ in 1...3 { _ = session.does { machine, _ in machine.queue(String(repeating: "x", count: 20)) } }
        #expect(session.does { $0.flush(now: $1) } == [])
        #expect(session.does { $0.send("0123456789", now: $1) } == [])
        #expect(session.does { $0.send("x", now: $1) }.last == "closed - sendBufferFull -")
    }

    @Test("a session loses the connection if too many bytes wait for the answer to the current request")
    func fullSendBuffer() {
        var session = Session.opened(.streaming, sendBufferSize: 10)
        _ = session.does { $0.send("1", now: $1) }
        var sent = 0
        while !session.machine.isClosed, sent < 100 {
            _ = session.does { $0.send("x", now: $1) }
            sent += 1
        }
        #expect(sent <= 22)
    }

    @Test("bytes that the server has accepted do not count toward the limit")
    func acceptedBytes() {
        var session = Session.opened(.streaming, sendBufferSize: 10)
        for _ in 1...10 {
            _ = session.does { $0.send("0123456789", now: $1) }
            _ = session.does { $0.sendAnswered(status: 204, now: $1) }
        }
        #expect(session.machine.isOpen)
    }

    @Test(
        "a streaming session answers a heartbeat with its waiting messages, or at most once a second with an empty array"
    )
    func heartbeats() {
        var session = Session.opened(.streaming)
        let answer = #"send 0 [] \#(Self.base)/xhr_send?t=1000&n=2"#
        #expect(session.does { $0.heartbeat(wantsAnswer: true, now: $1) } == [answer])
        // Even if the server sends a heartbeat after each answer, the session sends only one empty array a second.
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) } == ["sent"])
        #expect(session.does { $0.heartbeat(wantsAnswer: true, now: $1) } == [])
        session.now += .seconds(25)
        #expect(session.does { $0.heartbeat(wantsAnswer: false, now: $1) } == [])
        _ = session.does { machine, _ in machine.queue("x") }
        #expect(
            session.does { $0.heartbeat(wantsAnswer: true, now: $1) }
                == [#"send 1 ["x"] \#(Self.base)/xhr_send?t=26000&n=3"#]
        )
    }

    @Test("a polling session does not answer heartbeats, because the next poll is the answer")
    func pollingHeartbeats() {
        var session = Session.opened(.polling)
        #expect(session.does { $0.heartbeat(wantsAnswer: true, now: $1) } == [])
    }

    @Test("a streaming session continues with another response after 256 KiB")
    func handover() {
        var session = Session.opened(.streaming)
        #expect(session.handled(262_144, hasMessages: true, of: 1) == [])
        #expect(session.handled(1, isAtFrameEnd: false, of: 1) == [])
        #expect(
            session.handled(1, of: 1) == ["receive 2 \(Self.base)/xhr_streaming?protocol=7&t=1000&n=2"]
        )
        #expect(session.machine.currentResponse == 1)
        #expect(session.does { $0.answered(2, status: 200, now: $1) } == ["handover in 10000.0"])
        #expect(session.does { machine, _ in machine.acceptedHandover(2) } == ["pause 2"])
        // The session reads the rest of the first response.
        #expect(session.handled(50, hasMessages: true, of: 1) == [])
        #expect(session.does { $0.ended(1, now: $1) } == ["no handover", "read 2"])
        #expect(session.machine.currentResponse == 2)
        #expect(session.handled(262_144, of: 2) == [])
        #expect(session.handled(1, of: 2).first?.hasPrefix("receive 3") == true)
    }

    @Test("in a handover, a session cancels the first response after 10 s without a message, if the server answers")
    func handoverTimer() {
        var session = Session.inHandover()
        _ = session.handled(10, hasMessages: true, of: 1)
        #expect(session.does { $0.timerFired(.handover, now: $1) } == ["handover in 10000.0"])
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [Self.probe(3)])
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [])
        session.now += .seconds(25)
        // If TCP has sent a packet again and again for 25 s, the next try follows after at most 25 s.
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) } == ["sent", "handover in 25000.0"])
        #expect(session.does { $0.timerFired(.handover, now: $1) } == ["cancel 1", "no handover", "read 2"])
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [])
    }

    @Test("in a handover, the answer to an earlier request does not show that the network still works")
    func handoverDuringRequest() {
        var session = Session.inHandover()
        _ = session.does { $0.send("x", now: $1) }
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [])
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) } == ["sent", Self.probe(4)])
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) } == ["sent", "handover in 10000.0"])
    }

    @Test("a heartbeat during the request of a handover does not repeat this request")
    func heartbeatInHandover() {
        var session = Session.inHandover()
        _ = session.does { $0.timerFired(.handover, now: $1) }
        _ = session.does { $0.heartbeat(wantsAnswer: true, now: $1) }
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) }.last == "handover in 10000.0")
    }

    @Test("a session that closes does not wait for a handover")
    func closeInHandover() {
        var session = Session.inHandover()
        _ = session.does { $0.send("x", now: $1) }
        _ = session.does { $0.close(code: 1000, now: $1) }
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [])
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) }.last == "closed 1000 ")
    }

    @Test("a session loses the connection if the server does not answer in a handover")
    func silentHandover() {
        var session = Session.inHandover()
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [Self.probe(3)])
        #expect(session.does { $0.timerFired(.send, now: $1) }.last?.hasPrefix("closed - ") == true)
    }

    @Test("a dropped successor leaves no step of its handover behind")
    func droppedHandover() {
        var session = Session.inHandover()
        _ = session.does { $0.timerFired(.handover, now: $1) }
        _ = session.does { machine, _ in machine.refusedHandover(2) }
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) } == ["sent"])
    }

    @Test("a session reads messages that have waited in the operating system until the handover timer fired")
    func blockedHandover() {
        var session = Session.inHandover()
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [Self.probe(3)])
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) } == ["sent", "handover in 10000.0"])
        _ = session.handled(10, hasMessages: true, of: 1)
        #expect(session.does { $0.timerFired(.handover, now: $1) } == ["handover in 10000.0"])
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [Self.probe(4)])
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) } == ["sent", "handover in 10000.0"])
        #expect(session.does { $0.timerFired(.handover, now: $1) } == ["cancel 1", "no handover", "read 2"])
    }

    @Test("heartbeats in the first response do not postpone the end of a handover, but messages do")
    func heartbeatsInHandover() {
        var session = Session.inHandover()
        for (hasMessages, isAtFrameEnd) in [(true, true), (false, false), (true, true)] {
            _ = session.handled(10, hasMessages: hasMessages, isAtFrameEnd: isAtFrameEnd, of: 1)
            #expect(session.does { $0.timerFired(.handover, now: $1) } == ["handover in 10000.0"])
        }
        _ = session.handled(2, of: 1)
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [Self.probe(3)])
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) } == ["sent", "handover in 10000.0"])
        #expect(session.does { $0.timerFired(.handover, now: $1) } == ["cancel 1", "no handover", "read 2"])
    }

    @Test("a session loses the connection if its first response stops in the middle of a frame")
    func handoverInFrame() {
        var session = Session.opened(.streaming)
        _ = session.handled(300_000, of: 1)
        _ = session.handled(10, isAtFrameEnd: false, of: 1)
        _ = session.does { $0.answered(2, status: 200, now: $1) }
        #expect(session.does { $0.timerFired(.handover, now: $1) } == [Self.probe(3)])
        _ = session.does { $0.sendAnswered(status: 204, now: $1) }
        #expect(session.does { $0.timerFired(.handover, now: $1) }.last == "closed - connectionClosed 1006")
    }

    @Test("a session requests a handover again after another 256 KiB if the server keeps the first response")
    func refusedHandover() {
        var session = Session.inHandover()
        #expect(session.does { machine, _ in machine.refusedHandover(2) } == ["no handover", "cancel 2"])
        #expect(session.handled(262_144, of: 1) == [])
        #expect(session.handled(1, of: 1).first?.hasPrefix("receive 3") == true)
        #expect(session.does { $0.answered(3, status: 404, now: $1) } == ["no handover", "cancel 3"])
        _ = session.handled(300_000, of: 1)
        #expect(
            session.does { machine, _ in machine.failed(4, PusherClientError(.connectionFailed, "refused")) }
                == ["no handover", "cancel 4"]
        )
        #expect(session.machine.isOpen)
    }

    @Test("a session loses the connection if its second response fails, because data may be lost")
    func failedHandover() {
        var session = Session.inHandover()
        #expect(
            session.does { machine, _ in machine.failed(2, PusherClientError(.connectionClosed, "reset")) }
                == ["cancel 1", "cancel 2"] + Self.noTimers + ["closed - connectionClosed -"]
        )
    }

    @Test("a polling session requests no second response")
    func longPoll() {
        var session = Session.opened(.polling)
        #expect(session.handled(1_000_000, hasMessages: true, of: 2) == [])
    }

    @Test("a session loses the connection after the end of its stream, a second opening frame or an error status")
    func losses() {
        let loss = ["cancel 1"] + Self.noTimers + ["closed - connectionClosed 1006"]
        var ended = Session.opened(.streaming)
        #expect(ended.does { $0.ended(1, now: $1) } == loss)
        var reopened = Session.opened(.streaming)
        #expect(reopened.does { $0.opened(hostname: nil, now: $1) } == loss)
        var lost = Session.opened(.polling)
        _ = lost.handled(1, hasMessages: true, of: 2)
        _ = lost.does { $0.ended(2, now: $1) }
        #expect(
            lost.does { $0.answered(3, status: 404, now: $1) }
                == ["cancel 3"] + Self.noTimers + ["closed - connectionClosed 1006"]
        )
        var cut = Session.opened(.polling)
        _ = cut.handled(1, isAtFrameEnd: false, of: 2)
        #expect(cut.does { $0.ended(2, now: $1) }.last == "closed - connectionClosed 1006")
    }

    @Test(
        "a session fails if its first response has an error status, or contains a message before the opening frame",
        arguments: [HTTPSessionStateMachine.Mode.streaming, .polling]
    )
    func notOpened(mode: HTTPSessionStateMachine.Mode) {
        var session = Session(mode)
        _ = session.does { $0.start(now: $1) }
        #expect(
            session.does { $0.answered(1, status: 404, now: $1) }
                == ["cancel 1"] + Self.noTimers + ["closed - upgradeFailed -"]
        )
        var early = Session(mode)
        _ = early.does { $0.start(now: $1) }
        _ = early.does { $0.answered(1, status: 200, now: $1) }
        #expect(early.does { machine, _ in machine.violatedOrder() }.last == "closed - protocolViolation -")
    }

    @Test("a session reports the server's close with its code, before and after its opening")
    func closedByServer() {
        for var session in [Session.opened(.streaming), .opened(.polling)] {
            #expect(
                session.does { machine, _ in machine.closedByServer(4200, reason: "bye") }.last == "closed 4200 bye"
            )
        }
        var early = Session(.streaming)
        _ = early.does { $0.start(now: $1) }
        #expect(
            early.does { machine, _ in machine.closedByServer(4001, reason: "no app") }
                == ["cancel 1"] + Self.noTimers + ["closed 4001 no app"]
        )
    }

    @Test(
        "a session loses the connection after an unreadable frame",
        arguments: [
            (HTTPFrameViolation.tooLong(limit: 3), "messageTooBig"), (.malformed("a"), "protocolViolation"),
            (.invalidText, "invalidText"),
        ]
    )
    func violations(violation: HTTPFrameViolation, code: String) {
        var session = Session.opened(.streaming)
        #expect(session.does { machine, _ in machine.violated(violation) }.last == "closed - \(code) -")
    }

    @Test("close() sends waiting messages before it closes the session")
    func close() {
        var session = Session.opened(.streaming)
        _ = session.does { $0.send("a", now: $1) }
        _ = session.does { machine, _ in machine.queue("b") }
        #expect(session.does { $0.close(code: 1000, now: $1) } == [])
        #expect(session.does { $0.sendAnswered(status: 204, now: $1) }.count == 2)
        #expect(
            session.does { $0.sendAnswered(status: 204, now: $1) }
                == ["sent", "cancel 1"] + Self.noTimers + ["closed 1000 "]
        )
        var idle = Session.opened(.streaming)
        #expect(idle.does { $0.close(code: 1000, now: $1) } == ["cancel 1"] + Self.noTimers + ["closed 1000 "])
        var unflushed = Session.opened(.streaming)
        _ = unflushed.does { machine, _ in machine.queue("a") }
        #expect(unflushed.does { $0.close(code: 1000, now: $1) }.count == 1)
        #expect(!unflushed.machine.isClosed)
    }

    @Test("abort() cancels all requests and reports nothing")
    func abort() {
        var session = Session.opened(.streaming)
        _ = session.does { $0.send("a", now: $1) }
        _ = session.handled(300_000, of: 1)
        #expect(
            session.does { machine, _ in machine.abort() } == ["cancel 1", "cancel 3", "cancel send"] + Self.noTimers
        )
        #expect(session.does { machine, _ in machine.abort() } == [])
    }

    @Test("a session pauses its stream and sends no poll while the client does not read")
    func backPressure() {
        var streaming = Session.opened(.streaming)
        #expect(streaming.does { $0.setReading(false, now: $1) } == ["pause 1"])
        #expect(streaming.does { $0.setReading(false, now: $1) } == [])
        #expect(streaming.does { $0.setReading(true, now: $1) } == ["read 1"])
        var polling = Session.opened(.polling)
        #expect(polling.does { $0.setReading(false, now: $1) } == ["pause 2"])
        _ = polling.handled(10, hasMessages: true, of: 2)
        #expect(polling.does { $0.ended(2, now: $1) } == [])
        #expect(polling.does { $0.setReading(true, now: $1) } == ["receive 3 \(Self.base)/xhr?protocol=7&t=1000&n=3"])
    }

    @Test("inputs have no effect if the session is closed, or if they belong to unknown requests")
    func stale() {
        var other = Session.opened(.streaming)
        #expect(
            other.does {
                var actions = $0.answered(7, status: 500, now: $1)
                actions += $0.ended(7, now: $1)
                actions += $0.refusedHandover(7)
                actions += $0.acceptedHandover(7)
                actions += $0.failed(7, PusherClientError(.connectionFailed, ""))
                actions += $0.sendAnswered(status: 500, now: $1)
                for timer in HTTPSessionStateMachine.Timer.allCases { actions += $0.timerFired(timer, now: $1) }
                return actions
            } == []
        )
        #expect(other.handled(1_000_000, of: 7) == [])
        #expect(other.machine.isOpen)
        for var session in [Session.opened(.streaming), .opened(.polling)] {
            _ = session.machine.abort()
            let number = session.machine.currentResponse
            #expect(number == nil)
            #expect(
                session.does { machine, now in
                    var actions = machine.opened(hostname: nil, now: now)
                    for number in 1...2 {
                        actions += machine.answered(number, status: 200, now: now)
                        actions += machine.ended(number, now: now)
                        actions += machine.failed(number, PusherClientError(.connectionFailed, ""))
                    }
                    actions += machine.heartbeat(wantsAnswer: true, now: now)
                    actions += machine.closedByServer(4200, reason: "")
                    actions += machine.violated(.invalidText)
                    actions += machine.sendFailed(PusherClientError(.connectionClosed, ""))
                    for isReading in [false, true] { actions += machine.setReading(isReading, now: now) }
                    actions += machine.close(code: 1000, now: now)
                    for timer in HTTPSessionStateMachine.Timer.allCases {
                        actions += machine.timerFired(timer, now: now)
                    }
                    actions += machine.violatedOrder()
                    return actions
                } == []
            )
        }
    }

    @Test("a session name consists of a number below a thousand and eight letters or digits")
    func names() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<100 {
            let parts = HTTPSessionName(using: &generator).description.split(separator: "/")
            try #require(parts.count == 2)
            #expect(try (0..<1_000).contains(#require(Int(parts[0]))))
            #expect(parts[1].count == 8)
            #expect(parts[1].allSatisfy { "0123456789abcdefghijklmnopqrstuv".contains($0) })
        }
    }
}

extension HTTPSessionStateMachine {
    fileprivate mutating func send(_ message: String, now: Instant) -> [Action] { queue(message) + flush(now: now) }

    fileprivate mutating func queue(_ message: String) -> [Action] {
        send(message)
        return []
    }
}
