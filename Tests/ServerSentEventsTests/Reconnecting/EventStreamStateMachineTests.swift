import RealtimeHTTP
import TestTraits
import Testing

@testable import ServerSentEvents

/// The tests give the machine inputs, and compare its actions with the expected actions.
@Suite("The state machine of an event stream", .limited)
struct EventStreamStateMachineTests {
    typealias Machine = EventStreamStateMachine
    typealias Position = Machine.Position

    private static let okay = EventStreamResponse(
        status: 200,
        headers: ["content-type": "Text/Event-Stream ;charset=x"]
    )
    private static func error(
        _ code: EventStreamError.Code,
        _ message: String,
        response: EventStreamResponse? = nil,
        body: [UInt8] = []
    ) -> EventStreamError {
        EventStreamError(code, message, response: response, body: body, address: "http://example.com")
    }

    private static let lost = error(.connectionLost, "lost")

    private static func machine(
        _ reconnection: EventStreamOptions.Reconnection = .automatic,
        idleTimeout: Duration? = .seconds(300),
        makesRequests: Bool = false,
        lastEventID: String = ""
    ) -> Machine {
        let configuration = Machine.Configuration(
            reconnection: reconnection,
            reconnectionTime: .seconds(3),
            backOffReset: .seconds(10),
            retryableStatuses: [503],
            contentTypes: ["text/event-stream"],
            wholeContentTypes: ["application/json"],
            responseTimeout: .seconds(60),
            idleTimeout: idleTimeout,
            makesRequests: makesRequests
        )
        return Machine(configuration, lastEventID: lastEventID)
    }

    private static func request(_ method: String = "GET", body: [UInt8]? = nil) -> HTTPRequest {
        HTTPRequest(
            url: "http://example.com",
            method: method,
            body: body,
            timeout: .zero,
            maximumResponseSize: 0
        )
    }

    /// Returns a machine that waits for the response to its first request.
    private static func connecting(
        _ reconnection: EventStreamOptions.Reconnection = .automatic,
        makesRequests: Bool = false,
        _ request: HTTPRequest = request()
    ) -> Machine {
        var machine = machine(reconnection, makesRequests: makesRequests)
        _ = machine.start(now: .zero)
        _ = machine.requested(1, .success(request), now: .zero)
        return machine
    }

    /// Returns a machine whose first response is open since second 0.
    private static func open(
        _ reconnection: EventStreamOptions.Reconnection = .automatic,
        _ request: HTTPRequest = request()
    ) -> Machine {
        var machine = connecting(reconnection, request)
        _ = machine.received(1, okay, retryAfter: .zero, now: .zero)
        return machine
    }

    /// Returns a machine that waits for the decision of the retry policy after the first response has ended.
    private static func asking(position: Position = Position(), error: EventStreamError? = nil) -> Machine {
        var machine = open()
        _ = machine.ended(1, error, now: .seconds(1))
        _ = machine.drained(1, position, now: .seconds(1))
        return machine
    }

    private static func ask(
        _ reason: EventStreamError,
        attempt: Int = 1,
        retryCount: Int = 0,
        elapsed: Duration = .zero,
        minimumDelay: Duration = .seconds(3)
    ) -> Machine.Action {
        .askRetryPolicy(
            .init(attempt, retryCount: retryCount, elapsed: elapsed, reason: reason, minimumDelay: minimumDelay)
        )
    }

    // MARK: The course of things

    @Test("the policy's time begins at the loss, however long the app takes to read the last events")
    func elapsed() {
        var machine = Self.open()
        _ = machine.ended(1, Self.lost, now: .seconds(2))
        #expect(machine.drained(1, Position(), now: .seconds(62)).last == Self.ask(Self.lost, elapsed: .seconds(60)))
        _ = machine.retryDecided(1, delay: .zero, now: .seconds(62))
        _ = machine.wake(isBehind: false, now: .seconds(65))
        #expect(
            machine.requested(2, .failure(Self.lost), now: .seconds(66)).last
                == Self.ask(Self.lost, attempt: 2, retryCount: 1, elapsed: .seconds(64))
        )
    }

    @Test("after a loss, the machine waits until the events are read, and then resumes after the last event")
    func life() {
        var machine = Self.machine(lastEventID: "0")
        #expect(
            machine.start(now: .zero) == [
                .publish(.connecting(attempt: 1)),
                .makeRequest(EventStreamAttempt(number: 1, reason: .initial, lastEventID: "0")),
            ]
        )
        #expect(machine.wakeUp == .seconds(60))
        #expect(machine.start(now: .zero) == [])
        #expect(machine.requested(1, .success(Self.request()), now: .zero) == [.open(1, Self.request())])
        #expect(!machine.isOpen(1))
        #expect(
            machine.received(1, Self.okay, retryAfter: .zero, now: .seconds(1)) == [
                .opened(Self.okay, isWhole: false)
            ]
        )
        #expect(machine.wakeUp == .seconds(301))
        #expect(machine.isOpen(1))
        #expect(
            machine.ended(1, Self.lost, now: .seconds(2)) == [
                .abort(1), .deliver(.ended(1, isComplete: false)),
            ]
        )
        var reason = Self.lost
        reason.lastEventID = "7"
        let position = Position(lastEventID: "7", reconnectionTime: 5_000, hasEvents: true)
        #expect(
            machine.drained(1, position, now: .seconds(3))
                == [Self.ask(reason, elapsed: .seconds(1), minimumDelay: .seconds(5))]
        )
        #expect(
            machine.retryDecided(1, delay: .seconds(1), now: .seconds(3)) == [
                .publishWait(until: .seconds(8), attempt: 2, reason: reason), .deliver(.lost(reason)),
            ]
        )
        #expect(machine.wakeUp == .seconds(8))
        #expect(
            machine.wake(isBehind: false, now: .seconds(8)) == [
                .publish(.connecting(attempt: 2)),
                .makeRequest(EventStreamAttempt(number: 2, reason: .reconnect, lastEventID: "7")),
            ]
        )
        #expect(machine.wakeUp == .seconds(68))
    }

    @Test("reconnects after a complete response if the request may be repeated")
    func cleanEnd() {
        var machine = Self.open()
        _ = machine.ended(1, nil, now: .seconds(1))
        let message = "Connection to http://example.com lost: the server ended the response."
        let reason = Self.error(.connectionLost, message)
        #expect(machine.drained(1, Position(), now: .seconds(1)) == [Self.ask(reason)])
    }

    @Test("waits for the policy's delay if it is longer than the reconnection time")
    func longerWait() {
        var machine = Self.asking()
        _ = machine.retryDecided(1, delay: .seconds(20), now: .zero)
        #expect(machine.wakeUp == .seconds(20))
    }

    @Test(
        "limits the server's reconnection time to ten minutes",
        arguments: [(0, 0), (5_000, 5), (600_000, 600), (600_001, 600), (.max, 600)] as [(Int64, Int)]
    )
    func reconnectionTime(_ milliseconds: Int64, _ seconds: Int) {
        var machine = Self.asking(position: Position(reconnectionTime: milliseconds))
        guard case .publishWait(.seconds(seconds), 2, _) = machine.retryDecided(1, delay: .zero, now: .zero)[0] else {
            Issue.record("no wait of \(seconds) seconds")
            return
        }
    }

    @Test("fails with the reason of the loss when the policy returns nil")
    func policyStops() {
        var machine = Self.asking(error: Self.lost)
        #expect(
            machine.retryDecided(1, delay: nil, now: .zero) == [
                .publish(.closed(Self.lost)), .finish(.failure(Self.lost)),
            ]
        )
    }

    @Test("resets the retry count after an event or after a long connection")
    func reset() {
        for (held, hasEvents, count) in [(9, false, 1), (10, false, 0), (1, true, 0)] {
            var machine = Self.asking()
            _ = machine.retryDecided(1, delay: .zero, now: .zero)
            _ = machine.wake(isBehind: false, now: .seconds(4))
            _ = machine.requested(2, .success(Self.request()), now: .seconds(4))
            _ = machine.received(2, Self.okay, retryAfter: .zero, now: .seconds(5))
            let end = Duration.seconds(5 + held)
            _ = machine.ended(2, Self.lost, now: end)
            #expect(
                machine.drained(2, Position(hasEvents: hasEvents), now: end)
                    == [Self.ask(Self.lost, attempt: 2, retryCount: count)]
            )
        }
    }

    // MARK: Which requests are repeated

    @Test(
        "if the client must not repeat the request, the stream ends after a complete response and fails after an incomplete one"
    )
    func notRepeated() {
        let requests = [
            Self.request("POST"), Self.request("POST", body: []), Self.request("GET", body: []), Self.request("PUT"),
            Self.request("DELETE"), Self.request("get"),
        ]
        for (request, reconnection) in requests.map({ ($0, EventStreamOptions.Reconnection.automatic) })
            + [(Self.request(), .never), (Self.request("POST"), .resumable)]
        {
            var machine = Self.open(reconnection, request)
            _ = machine.ended(1, nil, now: .seconds(1))
            #expect(
                machine.drained(1, Position(hasEvents: true), now: .seconds(1))
                    == [.publish(.closed(nil)), .finish(.success(.endOfResponse))]
            )
            machine = Self.open(reconnection, request)
            _ = machine.ended(1, Self.lost, now: .seconds(1))
            #expect(
                machine.drained(1, Position(hasEvents: true), now: .seconds(1))
                    == [.publish(.closed(Self.lost)), .finish(.failure(Self.lost))]
            )
            machine = Self.connecting(reconnection, request)
            let failure = Self.error(.connectionFailed, "no")
            #expect(
                machine.ended(1, failure, now: .zero)
                    == [
                        .publish(.closed(failure)), .finish(.failure(failure)),
                    ]
            )
        }
    }

    @Test("repeats only the requests that the option allows")
    func repeated() {
        let cases: [(EventStreamOptions.Reconnection, HTTPRequest)] =
            ["GET", "HEAD", "REPORT", "QUERY"].map { (.automatic, Self.request($0)) } + [
                (.always, Self.request("POST", body: [1])), (.resumable, Self.request("POST", body: [1])),
            ]
        for (reconnection, request) in cases {
            var machine = Self.open(reconnection, request)
            _ = machine.ended(1, nil, now: .seconds(1))
            let actions = machine.drained(1, Position(lastEventID: "1"), now: .seconds(1))
            guard case .askRetryPolicy? = actions.first else {
                Issue.record("\(reconnection) \(request.method): \(actions)")
                continue
            }
        }
    }

    @Test("until the response has begun, repeats a POST after each failure, and not afterwards")
    func untilResponse() {
        let failure = Self.error(.connectionFailed, "no")
        for request in [Self.request("POST", body: [1]), Self.request()] {
            var machine = Self.connecting(.untilResponse, request)
            #expect(machine.ended(1, failure, now: .zero).last == Self.ask(failure))
            _ = machine.retryDecided(1, delay: .zero, now: .zero)
            _ = machine.wake(isBehind: false, now: .seconds(3))
            _ = machine.requested(2, .success(request), now: .seconds(3))
            _ = machine.received(2, EventStreamResponse(status: 503), retryAfter: .seconds(7), now: .seconds(3))
            guard case .askRetryPolicy(let question)? = machine.ended(2, nil, now: .seconds(3)).last else {
                Issue.record("no repetition after status 503")
                continue
            }
            #expect(question.retryCount == 1 && question.elapsed == .seconds(3))
            #expect(question.minimumDelay == .seconds(7))
            _ = machine.retryDecided(2, delay: .zero, now: .seconds(3))
            _ = machine.wake(isBehind: false, now: .seconds(10))
            _ = machine.requested(3, .success(request), now: .seconds(10))
            _ = machine.received(3, Self.okay, retryAfter: .zero, now: .seconds(10))
            _ = machine.ended(3, Self.lost, now: .seconds(11))
            let actions = machine.drained(3, Position(), now: .seconds(11))
            if request.method == "POST" {
                #expect(actions == [.publish(.closed(Self.lost)), .finish(.failure(Self.lost))])
            } else {
                #expect(actions == [Self.ask(Self.lost, attempt: 3, retryCount: 2)])
            }
        }
    }

    @Test("a limit of attempts stays a limit for requests whose whole work is repeated")
    func limit() {
        for (reconnection, request, isReset) in [
            (.always, Self.request("POST", body: [1]), false), (.always, Self.request(), true),
            (.resumable, Self.request("POST", body: [1]), true), (.automatic, Self.request(), true),
        ] as [(EventStreamOptions.Reconnection, HTTPRequest, Bool)] {
            var machine = Self.connecting(reconnection, request)
            for attempt in 1...3 {
                let now = Duration.seconds(attempt * 100)
                _ = machine.received(attempt, Self.okay, retryAfter: .zero, now: now)
                _ = machine.ended(attempt, Self.lost, now: now + .seconds(50))
                let position = Position(lastEventID: "1", hasEvents: true)
                let actions = machine.drained(attempt, position, now: now + .seconds(50))
                guard case .askRetryPolicy(let question)? = actions.last else {
                    Issue.record("\(reconnection): \(actions)")
                    break
                }
                #expect(question.attempt == attempt && question.retryCount == (isReset ? 0 : attempt - 1))
                _ = machine.retryDecided(attempt, delay: .zero, now: now)
                _ = machine.wake(isBehind: false, now: now + .seconds(60))
                _ = machine.requested(attempt + 1, .success(request), now: now + .seconds(60))
            }
        }
    }

    // MARK: Responses

    @Test("a complete response whose body is one event ends the stream, and an incomplete one is a loss")
    func wholeBody() {
        let json = EventStreamResponse(
            status: 200,
            headers: ["Content-Type": "Application/JSON; charset=utf-8"]
        )
        for error in [nil, Self.lost] {
            var machine = Self.connecting()
            #expect(
                machine.received(1, json, retryAfter: .zero, now: .zero).last
                    == .opened(json, isWhole: true)
            )
            #expect(machine.ended(1, error, now: .zero).last == .deliver(.ended(1, isComplete: error == nil)))
            let actions = machine.drained(1, Position(hasEvents: error == nil), now: .zero)
            #expect(actions.last == (error == nil ? .finish(.success(.answered)) : Self.ask(Self.lost)))
        }
    }

    @Test("status 202 ends the stream without an error only if the complete response has no content")
    func accepted() {
        for (body, error, isSuccess) in [
            ("", nil, true), ("x", nil, false), ("", Self.lost, false),
        ] as [(String, EventStreamError?, Bool)] {
            var machine = Self.connecting()
            _ = machine.received(1, EventStreamResponse(status: 202), retryAfter: .zero, now: .zero)
            _ = machine.received(1, refusal: body.utf8, now: .zero)
            let end = machine.ended(1, error, now: .zero).last
            #expect((end == .finish(.success(.withoutContent(status: 202)))) == isSuccess)
            if !isSuccess {
                guard case .finish(.failure(let error))? = end else {
                    Issue.record("no failure")
                    continue
                }
                #expect(error.httpStatus == 202)
            }
        }
    }

    @Test("ends without an error after status 204")
    func noContent() {
        var machine = Self.connecting()
        #expect(
            machine.received(1, EventStreamResponse(status: 204), retryAfter: .zero, now: .zero) == [
                .abort(1), .publish(.closed(nil)),
                .finish(.success(.withoutContent(status: 204))),
            ]
        )
    }

    @Test(
        "fails after an unexpected status, with the start of the body in the error",
        arguments: [100, 201, 205, 206, 210, 299, 300, 304, 400, 401, 403, 404, 405, 410, 418, 501, 505, 999]
    )
    func statuses(_ status: Int) {
        var machine = Self.connecting()
        let response = EventStreamResponse(status: status, headers: Self.okay.headers)
        #expect(machine.received(1, response, retryAfter: .zero, now: .zero) == [])
        #expect(machine.received(1, refusal: Array("wh".utf8), now: .zero) == [])
        #expect(machine.received(1, refusal: Array("y".utf8), now: .zero) == [])
        let error = Self.error(
            .unexpectedStatus,
            "Connection to http://example.com failed: the server answered with status \(status).",
            response: response,
            body: Array("why".utf8)
        )
        #expect(
            machine.ended(1, nil, now: .zero) == [
                .abort(1), .publish(.closed(error)), .finish(.failure(error)),
            ]
        )
    }

    @Test("reads at most 64 KiB of a refusal's body, within the response timeout")
    func refusalBody() {
        let response = EventStreamResponse(status: 404)
        var machine = Self.connecting()
        _ = machine.received(1, response, retryAfter: .zero, now: .zero)
        #expect(machine.received(1, refusal: [UInt8](repeating: 1, count: 65_535), now: .zero) == [])
        let actions = machine.received(1, refusal: [2, 3, 4], now: .zero)
        guard case .finish(.failure(let error))? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(error.body.count == 65_536)
        #expect(error.body.last == 2)

        machine = Self.connecting()
        _ = machine.received(1, response, retryAfter: .zero, now: .zero)
        let end = machine.wake(isBehind: false, now: .seconds(60))
        guard case .finish(.failure(let late))? = end.last else {
            Issue.record("\(end)")
            return
        }
        #expect(late.httpStatus == 404)
    }

    @Test("fails after a response that is not an event stream")
    func contentTypes() {
        for type in ["text/event-stream bogus", "x bogus", "text/html", "x-text/event-stream", "", nil] as [String?] {
            var machine = Self.connecting()
            let response = EventStreamResponse(
                status: 200,
                headers: type.map { ["Content-Type": $0] } ?? [:]
            )
            #expect(machine.received(1, response, retryAfter: .zero, now: .zero) == [])
            guard case .finish(.failure(let error))? = machine.ended(1, nil, now: .zero).last else {
                Issue.record("\(type ?? "none") is not refused")
                continue
            }
            #expect(error.code == .invalidContentType)
        }
        for type in ["text/event-stream", "text/event-stream;", "TEXT/Event-Stream;x bogus", " text/event-stream ;"] {
            var machine = Self.connecting()
            let response = EventStreamResponse(
                status: 200,
                headers: ["Content-Type": type]
            )
            _ = machine.received(1, response, retryAfter: .zero, now: .zero)
            #expect(machine.isOpen(1), "\(type)")
        }
    }

    @Test("retries after a temporary status, after at least the time in Retry-After")
    func retryAfter() {
        let response = EventStreamResponse(status: 503)
        for (retryAfter, minimumDelay) in [(1, 3), (20, 20)] {
            var machine = Self.connecting()
            _ = machine.received(1, response, retryAfter: .seconds(retryAfter), now: .zero)
            let error = Self.error(
                .unexpectedStatus,
                "Connection to http://example.com failed: the server answered with status 503.",
                response: response
            )
            #expect(
                machine.ended(1, nil, now: .seconds(1)) == [
                    .abort(1),
                    Self.ask(error, elapsed: .seconds(1), minimumDelay: .seconds(minimumDelay)),
                ]
            )
        }
    }

    @Test("calls the closure once more for new credentials", arguments: [401, 403])
    func unauthorized(_ status: Int) {
        var machine = Self.connecting(makesRequests: true)
        let response = EventStreamResponse(status: status)
        #expect(
            machine.received(1, response, retryAfter: .zero, now: .zero) == [
                .abort(1), .publish(.connecting(attempt: 2)),
                .makeRequest(EventStreamAttempt(number: 2, reason: .unauthorized)),
            ]
        )
        _ = machine.requested(2, .success(Self.request()), now: .zero)
        #expect(machine.received(2, response, retryAfter: .zero, now: .zero) == [])
        guard case .finish(.failure(let error))? = machine.ended(2, nil, now: .zero).last else {
            Issue.record("a second \(status) is not final")
            return
        }
        #expect(error.httpStatus == status)
    }

    @Test("fails after an error that every attempt would have")
    func permanent() {
        for code in [EventStreamError.Code.redirectRefused, .invalidRequest] {
            var machine = Self.connecting(.always)
            let error = Self.error(code, "no")
            #expect(machine.ended(1, error, now: .zero).last == .finish(.failure(error)))
        }
        var machine = Self.machine(.always)
        _ = machine.start(now: .zero)
        let error = Self.error(.invalidRequest, "no")
        #expect(
            machine.requested(1, .failure(error), now: .zero)
                == [.publish(.closed(error)), .finish(.failure(error))]
        )
    }

    @Test("fails if the closure throws before the first request, and retries if it throws later")
    func noRequest() {
        let error = Self.error(.requestFailed, "no token")
        var machine = Self.machine()
        _ = machine.start(now: .zero)
        #expect(machine.requested(1, .failure(error), now: .zero).last == .finish(.failure(error)))
        machine = Self.asking()
        _ = machine.retryDecided(1, delay: .zero, now: .zero)
        _ = machine.wake(isBehind: false, now: .seconds(4))
        #expect(
            machine.requested(2, .failure(error), now: .seconds(5)).last
                == Self.ask(error, attempt: 2, retryCount: 1, elapsed: .seconds(4))
        )
    }

    // MARK: Timeouts

    @Test("aborts an attempt without a response after the timeout")
    func responseTimeout() {
        var machine = Self.connecting()
        let error = Self.error(
            .responseTimedOut,
            """
            Connection to http://example.com timed out: the request was not answered within 60 s. A proxy may hold the \
            answer back.
            """
        )
        #expect(
            machine.wake(isBehind: false, now: .seconds(60)) == [
                .abort(1), Self.ask(error, elapsed: .seconds(60)),
            ]
        )
        #expect(machine.ended(1, Self.lost, now: .seconds(60)) == [])
    }

    @Test("a closure that returns no request in time is named")
    func closureTimeout() {
        var machine = Self.machine(makesRequests: true)
        _ = machine.start(now: .zero)
        let error = EventStreamError(
            .responseTimedOut,
            "Connection timed out: the app's closure returned no request within 60 s."
        )
        #expect(
            machine.wake(isBehind: false, now: .seconds(60)) == [
                .abort(1), .publish(.closed(error)), .finish(.failure(error)),
            ]
        )
    }

    @Test("errors name the address after redirects, without its query")
    func address() throws {
        let request = HTTPRequest(
            url: "http://ada:secret@example.com/feed?token=secret",
            method: "GET",
            timeout: .zero,
            maximumResponseSize: 0
        )
        for (url, place) in [
            (nil, "http://example.com/feed"),
            ("http://b.test/feed?token=secret", "http://b.test/feed (redirected from http://example.com/feed)"),
        ] as [(String?, String)] {
            for headers in [[:], ["Content-Type": "text/event-stream", "Content-Encoding": "gzip"]]
                as [HTTPHeaderFields]
            {
                var machine = Self.connecting(.never, request)
                let response = EventStreamResponse(status: 200, headers: headers, url: url)
                _ = machine.received(1, response, retryAfter: .zero, now: .zero)
                guard case .finish(.failure(let error))? = machine.ended(1, nil, now: .zero).last else {
                    Issue.record("the stream does not fail")
                    continue
                }
                #expect(error.message.hasPrefix("Connection to \(place) failed: the response is "), "\(error)")
            }
        }
    }

    @Test("received bytes and a slow reader postpone the idle timeout")
    func idleTimeout() {
        var machine = Self.open()
        machine.activity(1, now: .seconds(100))
        #expect(machine.wake(isBehind: false, now: .seconds(300)) == [])
        #expect(machine.wakeUp == .seconds(400))
        #expect(machine.wake(isBehind: true, now: .seconds(400)) == [])
        #expect(machine.wakeUp == .seconds(700))
        #expect(machine.wake(isBehind: false, now: .seconds(699)) == [])
        #expect(
            machine.wake(isBehind: false, now: .seconds(700)) == [
                .abort(1), .deliver(.ended(1, isComplete: false)),
            ]
        )
        let error = Self.error(
            .idleTimedOut,
            "Connection to http://example.com lost: nothing came from the server for 300 s."
        )
        #expect(machine.drained(1, Position(), now: .seconds(700)) == [Self.ask(error)])
    }

    @Test("restarts the idle timeout when the client resumes reading")
    func resumedReading() {
        var machine = Self.open()
        machine.resumedReading(now: .seconds(299))
        #expect(machine.wake(isBehind: false, now: .seconds(300)) == [])
        #expect(machine.wakeUp == .seconds(599))
    }

    @Test("an open stream without an idle timeout waits for no time")
    func noIdleTimeout() {
        var machine = Self.machine(idleTimeout: nil)
        _ = machine.start(now: .zero)
        _ = machine.requested(1, .success(Self.request()), now: .zero)
        #expect(
            machine.received(1, Self.okay, retryAfter: .zero, now: .zero) == [
                .opened(Self.okay, isWhole: false)
            ]
        )
        #expect(machine.wakeUp == nil)
    }

    // MARK: The app

    /// Returns a machine for each phase, with the actions that leave the phase.
    private static var phases: [(String, Machine, [Machine.Action])] {
        var preparing = machine()
        _ = preparing.start(now: .zero)
        var refused = connecting()
        _ = refused.received(1, EventStreamResponse(status: 404), retryAfter: .zero, now: .zero)
        var draining = open()
        _ = draining.ended(1, nil, now: .zero)
        var waiting = asking()
        _ = waiting.retryDecided(1, delay: .zero, now: .zero)
        let attempt: [Machine.Action] = [.abort(1)]
        return [
            ("idle", machine(), []), ("preparing", preparing, attempt), ("connecting", connecting(), attempt),
            ("refused", refused, attempt), ("open", open(), [.abort(1)]),
            ("draining", draining, []), ("asking", asking(), []), ("waiting", waiting, []),
        ]
    }

    @Test("closing works in every phase, and the machine ignores all later inputs")
    func close() {
        for (name, machine, left) in Self.phases {
            var machine = machine
            #expect(
                machine.close() == left + [.publish(.closed(nil)), .finish(.success(.closed))],
                "\(name)"
            )
            let inputs: [(inout Machine) -> [Machine.Action]] = [
                { $0.close() }, { $0.start(now: .zero) }, { $0.restart(now: .zero) },
                { $0.requested(1, .success(Self.request()), now: .zero) },
                { $0.received(1, Self.okay, retryAfter: .zero, now: .zero) },
                { $0.received(1, refusal: [1], now: .zero) }, { $0.ended(1, Self.lost, now: .zero) },
                { $0.drained(1, Position(), now: .zero) }, { $0.failed(Self.lost) },
                { $0.retryDecided(1, delay: .zero, now: .zero) },
            ]
            for input in inputs { #expect(input(&machine) == [], "\(name)") }
            #expect(machine.wakeUp == nil && machine.wake(isBehind: false, now: .seconds(3_600)) == [], "\(name)")
        }
    }

    @Test("a restart connects at once, or after the reader has read the last events")
    func restart() {
        for (name, machine, left) in Self.phases {
            var machine = machine
            let actions = machine.restart(now: .seconds(1))
            switch name {
            case "idle": #expect(actions == [])
            case "open", "draining":
                #expect(actions == left + (name == "open" ? [.deliver(.ended(1, isComplete: false))] : []))
                #expect(machine.drained(1, Position(), now: .seconds(1)).first == .publish(.connecting(attempt: 2)))
            default:
                #expect(Array(actions.prefix(left.count)) == left, "\(name)")
                #expect(actions.dropFirst(left.count).first == .publish(.connecting(attempt: 2)), "\(name)")
            }
        }
    }

    @Test("fails if the reader cannot read the response")
    func unreadable() {
        var machine = Self.open(.always)
        let error = Self.error(.messageTooBig, "large")
        #expect(
            machine.failed(error) == [
                .abort(1), .publish(.closed(error)), .finish(.failure(error)),
            ]
        )
    }

    @Test("ignores inputs from an earlier attempt")
    func stale() {
        var machine = Self.open()
        _ = machine.restart(now: .zero)
        _ = machine.drained(1, Position(), now: .zero)
        let inputs: [(inout Machine) -> [Machine.Action]] = [
            { $0.requested(1, .success(Self.request()), now: .zero) },
            { $0.received(1, Self.okay, retryAfter: .zero, now: .zero) },
            { $0.received(1, refusal: [1], now: .zero) }, { $0.ended(1, Self.lost, now: .zero) },
            { $0.drained(1, Position(), now: .zero) },
            { $0.retryDecided(1, delay: .zero, now: .zero) },
            { $0.wake(isBehind: false, now: .zero) },
        ]
        for input in inputs { #expect(input(&machine) == []) }
        #expect(machine.requested(2, .success(Self.request()), now: .zero) == [.open(2, Self.request())])
    }
}
