import NIOConcurrencyHelpers
import RealtimePrimitives
import TestSupport
import TestTraits
import Testing

/// A policy that keeps the questions that it was asked.
private final class RecordingPolicy: RetryPolicy {
    let questions = Log<(retryCount: Int, elapsed: Duration)>()
    private let delay: Duration?
    private let onQuestion: @Sendable () -> Void

    init(_ delay: Duration?, onQuestion: @escaping @Sendable () -> Void = {}) {
        (self.delay, self.onQuestion) = (delay, onQuestion)
    }

    func delay(for context: RetryContext) -> Duration? {
        questions.append((context.retryCount, context.elapsed))
        onQuestion()
        return delay
    }
}

/// The rules that hold for all clients that reconnect, in virtual time.
@Suite("The contract of the clients", .limited)
struct ContractTests {
    // MARK: States

    @Test(
        "the states are idle, connecting, open, waiting and closed, in words that all clients share",
        arguments: Contract.allCases
    )
    func states(_ contract: Contract) async throws {
        let client = contract.client()
        var states = client.states.makeAsyncIterator()
        #expect(await states.next() == .idle)
        client.connect()
        #expect(await states.next() == .connecting(attempt: 1))
        await client.waitForAttempt(1)
        try await client.accept()
        #expect(await states.next() == .open)
        let loss = client.now
        try await client.drop()
        guard case .waiting(let until, 2, let reason)? = await states.next() else {
            Issue.record("the loss is not reported")
            return
        }
        #expect(until == loss + .seconds(7))
        #expect(client.state == .waiting(until: until, attempt: 2, reason: reason))
        await client.advance(by: .seconds(7))
        #expect(await states.next() == .connecting(attempt: 2))
        await client.waitForAttempt(2)
        try await client.accept()
        #expect(await states.next() == .open)
        client.close()
        var last = await states.next()
        if last == .closing {
            try await client.drop()
            last = await states.next()
        }
        guard case .closed? = last else {
            Issue.record("the last state is \(last.debugDescription)")
            return
        }
        #expect(await states.next() == nil)
    }

    @Test("an observer that comes late gets only the current state", arguments: Contract.allCases)
    func lateObserver(_ contract: Contract) async throws {
        let client = contract.client()
        try await client.connectAndOpen()
        var states = client.states.makeAsyncIterator()
        #expect(await states.next() == .open)
        try await client.drop()
        await client.waitForWait(before: 2)
        client.close()
        await client.wait { $0 == .closed(nil) }
        states = client.states.makeAsyncIterator()
        #expect(await states.next() == .closed(nil))
        #expect(await states.next() == nil)
    }

    // MARK: Attempts

    @Test("connects once, however often the app asks for it", arguments: Contract.allCases)
    func connectsOnce(_ contract: Contract) async throws {
        let client = contract.client()
        client.connect()
        client.connect()
        await client.waitForAttempt(1)
        try await client.accept()
        await client.wait { $0 == .open }
        client.connect()
        await client.advance(by: .seconds(60))
        #expect(client.attemptCount == 1 && client.state == .open)
    }

    @Test("a refused attempt and an attempt without an answer lead to the next attempt", arguments: Contract.allCases)
    func failedAttempts(_ contract: Contract) async throws {
        let client = contract.client()
        client.connect()
        await client.waitForAttempt(1)
        try await client.refuse()
        await client.waitForWait(before: 2)
        await client.advance(by: .seconds(7))
        await client.waitForAttempt(2)
        await client.advance(by: .seconds(15) - .milliseconds(1))
        #expect(client.state == .connecting(attempt: 2))
        await client.advance(by: .milliseconds(1))
        let (_, reason) = try #require(await client.waitForWait(before: 3))
        #expect(reason.code.hasSuffix("imedOut"), "\(reason)")
        #expect(try await client.isDropped)
    }

    @Test(
        "asks the policy with the number of retries, and with the time since the loss or the first attempt",
        arguments: Contract.allCases
    )
    func questions(_ contract: Contract) async throws {
        let policy = RecordingPolicy(.seconds(2))
        let client = contract.client(policy)
        client.connect()
        await client.waitForAttempt(1)
        await client.advance(by: .seconds(1))
        try await client.refuse()
        await client.retry(2, after: .seconds(2))
        try await client.refuse()
        await client.retry(3, after: .seconds(2))
        try await client.open(attempt: 3)
        // This connection is too short to reset the number of retries.
        await client.advance(by: .seconds(9))
        try await client.drop()
        await client.retry(4, after: .seconds(2))
        try await client.open(attempt: 4)
        await client.advance(by: .seconds(10))
        try await client.drop()
        await client.waitForWait(before: 5)
        #expect(policy.questions.elements.map(\.retryCount) == [0, 1, 2, 0])
        #expect(policy.questions.elements.map(\.elapsed) == [.seconds(1), .seconds(3), .zero, .zero])
    }

    @Test("a refusal's Retry-After is the shortest wait before the next attempt", arguments: Contract.allCases)
    func retryAfter(_ contract: Contract) async throws {
        let client = contract.client()
        client.connect()
        for (attempt, (retryAfter, wait)) in [("30", 30), ("3", 7), ("soon", 7)].enumerated() {
            await client.waitForAttempt(attempt + 1)
            let now = client.now
            try await client.refuse(retryAfter: retryAfter)
            let until = await client.waitForWait(before: attempt + 2)?.until
            #expect(until == now + .seconds(wait), "\(retryAfter)")
            await client.advance(by: .seconds(wait))
        }
    }

    @Test("closing while the policy decides ends the client without another attempt", arguments: Contract.allCases)
    func closedByPolicy(_ contract: Contract) async throws {
        let closed = NIOLockedValueBox<(any ContractClient)?>(nil)
        let policy = RecordingPolicy(.zero) { closed.withLockedValue { $0 }?.close() }
        let client = contract.client(policy)
        closed.withLockedValue { $0 = client }
        defer { closed.withLockedValue { $0 = nil } }
        try await client.connectAndOpen()
        try await client.drop()
        #expect(await client.wait { if case .closed = $0 { true } else { false } } == .closed(nil))
        await client.advance(by: .seconds(3_600))
        #expect(client.attemptCount == 1 && policy.questions.count == 1)
    }

    @Test("stops with the reason of the loss if the policy allows no attempt", arguments: Contract.allCases)
    func noAttempt(_ contract: Contract) async throws {
        let client = contract.client(.delays([]))
        try await client.connectAndOpen()
        try await client.drop()
        guard case .closed(let reason?)? = await client.wait({ if case .closed = $0 { true } else { false } }) else {
            Issue.record("the client does not stop")
            return
        }
        #expect(!reason.code.isEmpty)
        await client.advance(by: .seconds(3_600))
        #expect(client.attemptCount == 1)
    }

    // MARK: Waiting calls

    @Test(
        "waiting for the connection connects, continues over failed attempts, and returns when it is open",
        arguments: Contract.allCases
    )
    func connected(_ contract: Contract) async throws {
        let client = contract.client()
        async let connected: Void = client.connected(timeout: nil)
        await client.waitForAttempt(1)
        client.connect()
        try await client.refuse()
        await client.retry(2, after: .seconds(7))
        try await client.open(attempt: 2)
        try await connected
        // If the client is connected already, the call returns at once.
        try await client.connected(timeout: .zero)
    }

    @Test(
        "a time limit and a cancelled task end a waiting call, and the attempt continues",
        arguments: Contract.allCases
    )
    func waitTimedOut(_ contract: Contract) async throws {
        let client = contract.client()
        let late = Task { try await client.connected(timeout: .seconds(5)) }
        await client.waitForAttempt(1)
        let cancelled = Task { try await client.connected(timeout: nil) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await client.advance(by: .seconds(5))
        let error = await #expect(throws: (any Error).self) { try await late.value }
        #expect(error.map { ContractError(any: $0)?.code } == "waitTimedOut")
        client.connect()
        try await client.open()
    }

    @Test("waiting for a closed client throws, also if the app closes it meanwhile", arguments: Contract.allCases)
    func closedWhileWaiting(_ contract: Contract) async throws {
        let client = contract.client()
        let waiting = Task { try await client.connected(timeout: nil) }
        await client.waitForAttempt(1)
        client.close()
        for call in [waiting, Task { try await client.connected(timeout: nil) }] {
            let error = await #expect(throws: (any Error).self) { try await call.value }
            #expect(error.map { ContractError(any: $0)?.code } == "connectionClosed")
        }
        try await client.closed(timeout: nil)
        #expect(client.state == .closed(nil))
    }

    @Test("waiting for the connection throws the reason why the client has stopped", arguments: Contract.allCases)
    func stopped(_ contract: Contract) async throws {
        let client = contract.client(.delays([]))
        let waiting = Task { try await client.connected(timeout: nil) }
        await client.waitForAttempt(1)
        client.connect()
        try await client.refuse()
        let error = await #expect(throws: (any Error).self) { try await waiting.value }
        #expect(client.state == .closed(error.flatMap { ContractError(any: $0) }))
    }

    // MARK: Limits

    @Test(
        "a wait of any length is possible: a negative one ends at once, and the longest after a year",
        arguments: Contract.allCases
    )
    func waits(_ contract: Contract) async throws {
        for (delay, wait) in [(Duration.seconds(-5), Duration.zero), (.seconds(Int64.max), .seconds(31_536_000))] {
            let client = contract.client(RecordingPolicy(delay))
            try await client.connectAndOpen()
            var states = client.states.makeAsyncIterator()
            #expect(await states.next() == .open)
            let loss = client.now
            try await client.drop()
            guard case .waiting(let until, 2, _)? = await states.next() else {
                Issue.record("no wait")
                continue
            }
            #expect(until == loss + wait)
            client.close()
        }
    }

    // MARK: Suspension

    @Test("after a suspension, the client notices within seconds that its wait is over", arguments: Contract.allCases)
    func suspendedWait(_ contract: Contract) async throws {
        let client = contract.client(.delays([.seconds(3_600)]))
        try await client.connectAndOpen()
        try await client.drop()
        await client.waitForWait(before: 2)
        await client.advance(by: .seconds(600))
        #expect(client.attemptCount == 1)
        client.suspend(for: .seconds(3_000))
        await client.advance(by: .seconds(5))
        await client.waitForAttempt(2)
    }

    @Test(
        "after a suspension, the client notices within seconds that its attempt took too long",
        arguments: Contract.allCases
    )
    func suspendedAttempt(_ contract: Contract) async throws {
        let client = contract.client()
        client.connect()
        await client.waitForAttempt(1)
        client.suspend(for: .seconds(3_600))
        await client.advance(by: .seconds(5))
        await client.waitForWait(before: 2)
    }

    @Test(
        "after a suspension, an answer that has arrived counts, although the time of the attempt is over",
        arguments: Contract.allCases
    )
    func answerAfterSuspension(_ contract: Contract) async throws {
        let client = contract.client()
        client.connect()
        await client.waitForAttempt(1)
        client.suspend(for: .seconds(3_600))
        try await client.accept()
        await client.wait { $0 == .open }
        await client.advance(by: .seconds(5))
        #expect(client.state == .open && client.attemptCount == 1)
    }

    // MARK: The end

    @Test("closing works in every state, and no attempt follows", arguments: Contract.allCases)
    func close(_ contract: Contract) async throws {
        for state in ["idle", "connecting", "waiting", "open"] {
            let client = contract.client()
            switch state {
            case "idle": break
            case "connecting":
                client.connect()
                await client.waitForAttempt(1)
            case "waiting":
                try await client.connectAndOpen()
                try await client.drop()
                await client.waitForWait(before: 2)
            default: try await client.connectAndOpen()
            }
            let attempts = client.attemptCount
            client.close()
            // A client that waits for the server's answer stops waiting after a while.
            await client.wait { $0 == .closing || $0 == .closed(nil) }
            await client.advance(by: .seconds(60))
            await client.wait { if case .closed = $0 { true } else { false } }
            if state == "connecting" || state == "open" { #expect(try await client.isDropped, "\(state)") }
            client.close()
            client.connect()
            client.suspend(for: .seconds(3_600))
            await client.advance(by: .seconds(3_600))
            #expect(client.attemptCount == attempts, "\(state)")
        }
    }

    @Test("a released client drops its connection and makes no attempt", arguments: Contract.allCases)
    func release(_ contract: Contract) async throws {
        for isWaiting in [false, true] {
            let client = contract.client()
            try await client.connectAndOpen()
            if isWaiting {
                try await client.drop()
                await client.waitForWait(before: 2)
            }
            await client.release()
            if !isWaiting { try await waitUntil { try await client.isDropped } }
            await client.advance(by: .seconds(3_600))
            #expect(client.attemptCount == 1)
        }
    }

    // MARK: Errors

    @Test(
        "an error has a code and a message that says what failed and why, in every form of the error",
        arguments: Contract.allCases
    )
    func errors(_ contract: Contract) async throws {
        let client = contract.client()
        client.connect()
        await client.waitForAttempt(1)
        try await client.refuse()
        let failure = try #require(await client.waitForWait(before: 2)).reason
        await client.retry(2, after: .seconds(7))
        try await client.open(attempt: 2)
        try await client.drop()
        let loss = try #require(await client.waitForWait(before: 3)).reason
        for error in [failure, loss] {
            #expect(error.address?.contains("://example.com") == true)
            #expect(!error.code.isEmpty && error.code.allSatisfy { $0.isASCII && $0.isLetter })
            #expect(error.message.contains(": ") && error.message.hasSuffix("."), "\(error.message)")
            #expect(error.description == "\(error.code): \(error.message)")
            #expect(error.localizedDescription == error.message)
        }
    }
}
