import PusherClient
import PusherProtocol
import Testing

/// After each input, the ledger checks that the limit on authorizations holds, that no authorization runs twice at
/// once, and that none continues without a connection.
@Suite("Authorizations")
struct AuthorizationTests {
    private func client(_ names: [String], atOnce: Int = 2) -> CoreClient {
        var client = CoreClient.connected { $0.authorizationsAtOnce = atOnce }
        for name in names { client.subscribe(name) }
        return client
    }

    private func busy(_ status: Int? = 503, after delay: Duration = .zero) -> Result<Authorization, AuthorizationError>
    {
        .failure(AuthorizationError(.refused, "busy", httpStatus: status, recovery: .retry(after: delay)))
    }

    private let forbidden = Result<Authorization, AuthorizationError>.failure(
        AuthorizationError(.refused, "no", httpStatus: 403)
    )
    private let expired = Result<Authorization, AuthorizationError>.failure(
        AuthorizationError(.refused, "no", httpStatus: 401, recovery: .askOnceMore)
    )

    // MARK: The bound

    @Test("As many authorizations run as the limit allows, and the others follow in the order of the calls")
    func bound() {
        var client = client([])
        #expect(client.subscribe("private-1").authorizations == ["authorize private-1 for 1.1"])
        #expect(client.subscribe("private-2").authorizations == ["authorize private-2 for 1.1"])
        for name in ["private-3", "private-4", "private-5"] { #expect(client.subscribe(name) == []) }
        // A failure frees a place, as a success does.
        #expect(client.authorized("private-2").authorizations == ["authorize private-3 for 1.1"])
        #expect(client.authorized("private-1", forbidden).authorizations == ["authorize private-4 for 1.1"])
        #expect(client.advance(by: .seconds(10)).authorizations.words.contains("authorize private-5 for 1.1"))
    }

    @Test("A queued authorization that is no longer needed is never requested")
    func cancelQueued() {
        var client = client(["private-1", "private-2", "private-3", "private-4"])
        #expect(client.unsubscribe("private-3") == ["retired private-3"])
        #expect(client.authorized("private-1").authorizations == ["authorize private-4 for 1.1"])
    }

    @Test("An authorization that is cancelled while it runs frees its place at once")
    func cancelAsked() {
        var client = client(["private-1", "private-2", "private-3"])
        #expect(
            client.unsubscribe("private-1").authorizations == [
                "forget the authorization", "authorize private-3 for 1.1",
            ]
        )
    }

    @Test("A limit of zero counts as one")
    func bound0() {
        let client = client(["private-1", "private-2"], atOnce: 0)
        #expect(client.ledger.authorizations.count == 1)
    }

    @Test("One request covers as many channels as the authorizer accepts, and ends with its last answer")
    func batches() {
        var machine = CoreClient.connected { $0.authorizationsAtOnce = 1 }.machine
        func input(_ body: (inout ClientStateMachine, inout [Effect]) -> Void) -> [Effect] {
            var effects: [Effect] = []
            body(&machine, &effects)
            return effects
        }
        func requests(_ effects: [Effect]) -> [[AuthorizationTry: AuthorizationQuestion]] {
            effects.compactMap { if case .authorize(let questions) = $0 { questions } else { nil } }
        }
        let names = (1...5).map { "private-\($0)" }
        let begun = input { machine, effects in
            for name in names { _ = machine.subscribe(name, now: Instant(), into: &effects) }
        }
        // The machine asks the shell once, whatever arrives before the next turn of its loop.
        #expect(begun == [.gatherAuthorizations])
        let first = requests(input { $0.authorizationsGathered(batchSize: 3, now: Instant(), into: &$1) })
        #expect(first.map { Set($0.values.map(\.subject)) } == [Set(names[..<3].map { .channel($0) })])
        var tries = first.flatMap { $0.keys.sorted() }
        let last = tries.removeLast()
        let answered = input { machine, effects in
            for id in tries { machine.authorized(id, forbidden, now: Instant(), into: &effects) }
        }
        #expect(!answered.contains(.gatherAuthorizations))
        #expect(
            input { $0.authorized(last, forbidden, now: Instant(), into: &$1) }.contains(.gatherAuthorizations)
        )
        let second = requests(input { $0.authorizationsGathered(batchSize: 3, now: Instant(), into: &$1) })
        #expect(second.map { Set($0.values.map(\.subject)) } == [Set(names[3...].map { .channel($0) })])
    }

    @Test("A pause, and a question to the policy, free the place for others")
    func pausesMakeRoom() {
        var client = client(["private-1", "private-2", "private-3"], atOnce: 1)
        #expect(
            client.authorized("private-1", busy()) == [
                "stop authorization", "ask retry 0", "authorize private-2 for 1.1", "set authorization 10s",
            ]
        )
        #expect(client.decide(.seconds(1)).timers == ["set authorization 1s"])
        // It waits behind earlier ones.
        #expect(client.advance(by: .seconds(1)).authorizations == [])
        #expect(client.authorized("private-2").authorizations == ["authorize private-3 for 1.1"])
        #expect(client.authorized("private-3").authorizations == ["authorize private-1 for 1.1 again 2"])
    }

    // MARK: Time

    @Test("Each authorization has its own timeout, which begins with its request")
    func timeLimit() {
        var client = client(["private-1", "private-2"], atOnce: 1)
        client.advance(by: .milliseconds(9_999))
        #expect(client.authorized("private-1").authorizations == ["authorize private-2 for 1.1"])
        client.received(.success("private-1"))
        #expect(client.advance(by: .milliseconds(9_999)).authorizations == [])
        let transcript = client.advance(by: .milliseconds(1))
        #expect(transcript.authorizations == ["forget the authorization"])
        #expect(transcript.changes == ["ask retry 0"])
    }

    @Test("An authorizer that never answers fails its channel after three tries, and delays no other")
    func hanging() {
        var client = client(["private-1", "private-2"], atOnce: 1)
        for number in 1...2 {
            #expect(client.advance(by: .seconds(10)).changes == ["ask retry \(number - 1)"])
            client.decide(.seconds(1))
            // In the meantime, the other channel had its turn.
            client.authorized("private-2")
            client.received(.success("private-2"))
            #expect(
                client.advance(by: .seconds(1)).authorizations == ["authorize private-1 for 1.1 again \(number + 1)"]
            )
        }
        #expect(client.machine.subscriptions["private-2"]?.isSubscribed == true)
        #expect(client.advance(by: .seconds(10)).told == ["failed private-1 authorizationFailed"])
        #expect(client.machine.authorizations.isEmpty)
        #expect(client.advance(by: .seconds(60)).authorizations == [])
    }

    // MARK: Tries

    @Test("The policy decides how long to wait, and Retry-After is the minimum")
    func retryAfter() {
        var client = client(["private-1"])
        #expect(client.authorized("private-1", busy(429, after: .seconds(7))).changes == ["ask retry 0 at least 7s"])
        #expect(client.decide(.seconds(2)).timers == ["set authorization 7s"])
        #expect(client.advance(by: .seconds(7)).authorizations == ["authorize private-1 for 1.1 again 2"])
        #expect(client.authorized("private-1", busy()).changes == ["ask retry 1"])
        #expect(client.decide(.seconds(2)).timers == ["set authorization 2s"])
        #expect(client.advance(by: .seconds(2)).authorizations == ["authorize private-1 for 1.1 again 3"])
        #expect(client.authorized("private-1", busy()).told == ["failed private-1 authorizationFailed"])
    }

    @Test("A negative wait counts as zero", arguments: [Duration.seconds(-3), .zero])
    func senselessWait(delay: Duration) {
        var client = client(["private-1"])
        client.authorized("private-1", busy(after: delay))
        #expect(client.decide(.seconds(-1)).timers == ["set authorization 0s"])
        #expect(client.advance(by: .zero).authorizations == ["authorize private-1 for 1.1 again 2"])
    }

    @Test("The number of tries is limited", arguments: 1...4)
    func tries(count: Int) {
        var client = CoreClient.connected { $0.authorizationTries = count }
        client.subscribe("private-1")
        for _ in 1..<max(count, 1) {
            #expect(client.authorized("private-1", busy()).told == [])
            client.decide(.zero)
            client.advance(by: .zero)
        }
        #expect(client.authorized("private-1", busy()).told == ["failed private-1 authorizationFailed"])
    }

    @Test("If the policy stops, the subscription fails with the last error")
    func policyGivesUp() {
        var client = client(["private-1"])
        client.awaitSubscription("private-1")
        client.authorized("private-1", busy())
        #expect(
            client.decide(nil) == ["failed private-1 authorizationFailed", "resume 1 failed authorizationFailed"]
        )
        guard case .failed(let error)? = client.machine.subscriptions["private-1"]?.phase else {
            Issue.record("it did not fail")
            return
        }
        #expect(error.httpStatus == 503 && error.cause as? AuthorizationError != nil)
    }

    @Test("A failure that a retry cannot fix is not retried")
    func notRecoverable() {
        var client = client(["private-1"])
        #expect(client.authorized("private-1", forbidden).told == ["failed private-1 authorizationFailed"])
        #expect(client.advance(by: .seconds(60)) == [])
        // The next call starts from the beginning, and so does the next connection.
        #expect(client.subscribe("private-1").authorizations == ["authorize private-1 for 1.1"])
        client.authorized("private-1", forbidden)
        client.closed()
        client.connect()
        #expect(client.establish().authorizations == ["authorize private-1 for 2.1"])
    }

    @Test("\"Ask once more\" applies once, at once, and does not count as a try")
    func askOnceMore() {
        var client = client(["private-1"])
        #expect(
            client.authorized("private-1", expired) == [
                "stop authorization", "authorize private-1 for 1.1 again 2", "set authorization 10s",
            ]
        )
        for number in 0..<2 {
            #expect(client.authorized("private-1", busy()).changes == ["ask retry \(number)"])
            client.decide(.zero)
            client.advance(by: .zero)
        }
        #expect(client.authorized("private-1", busy()).told == ["failed private-1 authorizationFailed"])
    }

    @Test("\"Ask once more\" also applies after the last try, but not twice", arguments: 1...3)
    func askOnceMoreLast(tries: Int) {
        var client = CoreClient.connected { $0.authorizationTries = tries }
        client.subscribe("private-1")
        for _ in 1..<max(tries, 1) {
            client.authorized("private-1", busy())
            client.decide(.zero)
            client.advance(by: .zero)
        }
        #expect(
            client.authorized("private-1", expired).authorizations == ["authorize private-1 for 1.1 again \(tries + 1)"]
        )
        #expect(client.authorized("private-1", expired).told == ["failed private-1 authorizationFailed"])
    }

    // MARK: What comes too late

    @Test("The first of two answers counts")
    func doubleAnswer() throws {
        var client = client(["private-1"])
        let id = try #require(client.ledger.authorizations.keys.first)
        client.authorized("private-1")
        #expect(client.answer(id, forbidden) == [])
        #expect(client.phase(of: "private-1") == "subscribing")
    }

    @Test("An answer to an earlier try is ignored")
    func earlierTry() throws {
        var client = client(["private-1"])
        let id = try #require(client.ledger.authorizations.keys.first)
        client.advance(by: .seconds(10))
        // While the policy decides, during the wait, and during the second try.
        #expect(client.answer(id, forbidden) == [])
        client.decide(.seconds(1))
        #expect(client.answer(id, forbidden) == [])
        client.advance(by: .seconds(1))
        #expect(client.answer(id, forbidden) == [])
        #expect(client.authorized("private-1").wire == ["send 1 subscribe private-1"])
    }

    enum Phase: CaseIterable { case queued, asking, deciding, pausing }

    /// The client, and the pending question.
    private func client(in phase: Phase) throws -> (CoreClient, AuthorizationTry?) {
        var client = client(["private-0", "private-1"], atOnce: phase == .queued ? 1 : 2)
        let id = client.ledger.authorizations.first { $0.value.subject == .channel("private-1") }?.key
        switch phase {
        case .queued, .asking: break
        case .deciding: client.authorized("private-1", busy())
        case .pausing:
            client.authorized("private-1", busy())
            client.decide(.seconds(1))
        }
        return (client, id)
    }

    @Test("Unsubscribing ends an authorization in every phase", arguments: Phase.allCases)
    func unsubscribe(phase: Phase) throws {
        var (client, id) = try client(in: phase)
        #expect(client.unsubscribe("private-1").told == ["retired private-1"])
        #expect(client.machine.authorizations.jobs.count == 1)
        if let id { #expect(client.answer(id, forbidden) == []) }
        #expect(client.decide(.zero) == [])
        client.authorized("private-0")
        #expect(client.advance(by: .seconds(60)).authorizations == [])
        // A new subscription starts from the beginning.
        #expect(client.subscribe("private-1").authorizations == ["authorize private-1 for 1.1"])
    }

    @Test("A lost connection ends all authorizations in every phase", arguments: Phase.allCases, [true, false])
    func loss(phase: Phase, isDisconnect: Bool) throws {
        var (client, id) = try client(in: phase)
        if isDisconnect { client.disconnect() } else { client.closed() }
        #expect(client.machine.authorizations.isEmpty)
        #expect(client.timer(.authorization) == nil)
        if let id { #expect(client.answer(id, forbidden) == []) }
        client.connect()
        #expect(client.establish().authorizations.words.contains("authorize private-0 for 2.1"))
        // Authorizations of the old connection count neither toward the limit nor toward the tries.
        client.authorized("private-0")
        if let id { #expect(client.answer(id, forbidden) == []) }
        #expect(client.authorized("private-1").wire == ["send 2 subscribe private-1"])
    }
}
