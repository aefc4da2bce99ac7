import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// After each input, the ledger checks the limit on authorizations. It also checks that no authorization runs twice
/// at once or continues without a connection.
@Suite("Authorizations", .limited)
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

    @Test(
        "A space or a line break in `auth` is named",
        arguments: ["key:sig\n", "key:sig ", "key: sig", "key:sig\r\n"]
    )
    func spacedAuth(auth: String) {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        client.authorized("private-a", .success(Authorization(auth: auth)))
        guard case .failed(let error)? = client.machine.subscriptions["private-a"]?.phase else {
            Issue.record("the subscription has not failed")
            return
        }
        #expect(error.message.contains("auth contains a space or a line break"))
    }

    @Test("Authorizations beyond the limit wait and start in the order of the calls")
    func bound() {
        var client = client([])
        #expect(client.subscribe("private-1").authorizations == ["authorize private-1 for 1.1"])
        #expect(client.subscribe("private-2").authorizations == ["authorize private-2 for 1.1"])
        for name in ["private-3", "private-4", "private-5"] { #expect(client.subscribe(name) == []) }
        // A failed authorization no longer counts toward the limit, like a successful one.
        #expect(client.authorized("private-2").authorizations == ["authorize private-3 for 1.1"])
        #expect(client.authorized("private-1", forbidden).authorizations == ["authorize private-4 for 1.1"])
        #expect(client.advance(by: .seconds(10)).authorizations.words.contains("authorize private-5 for 1.1"))
    }

    @Test("The client does not request a queued authorization that is no longer needed")
    func cancelQueued() {
        var client = client(["private-1", "private-2", "private-3", "private-4"])
        #expect(client.unsubscribe("private-3") == ["retired private-3"])
        #expect(client.authorized("private-1").authorizations == ["authorize private-4 for 1.1"])
    }

    @Test("A cancelled authorization no longer counts toward the limit, so the next authorization starts at once")
    func cancelAsked() {
        var client = client(["private-1", "private-2", "private-3"])
        #expect(
            client.unsubscribe("private-1").authorizations == [
                "forget the authorization", "authorize private-3 for 1.1",
            ]
        )
    }

    @Test("A limit of zero has the same effect as a limit of one")
    func bound0() {
        let client = client(["private-1", "private-2"], atOnce: 0)
        #expect(client.ledger.authorizations.count == 1)
    }

    @Test(
        "A request covers as many channels as the authorizer accepts, and the next request waits for all answers"
    )
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
        // The machine returns one effect for all channels that the app subscribes to in one turn of the event loop.
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

    @Test("An authorization does not count toward the limit while it waits for the policy or for its next try")
    func pausesMakeRoom() {
        var client = client(["private-1", "private-2", "private-3"], atOnce: 1)
        #expect(
            client.authorized("private-1", busy()) == [
                "stop authorization", "ask retry 0", "authorize private-2 for 1.1", "set authorization 10s",
            ]
        )
        #expect(client.decide(.seconds(1)).timers == ["set nextTry 1s"])
        // The second try waits, because other authorizations entered the queue earlier.
        #expect(client.advance(by: .seconds(1)).authorizations == [])
        #expect(client.authorized("private-2").authorizations == ["authorize private-3 for 1.1"])
        #expect(client.authorized("private-3").authorizations == ["authorize private-1 for 1.1"])
    }

    // MARK: Time

    @Test("The timeout of an authorization begins with its request")
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

    @Test("The client asks an authorizer that never answers for ever, and delays no other channel")
    func hanging() {
        var client = client(["private-1", "private-2"], atOnce: 1)
        client.awaitSubscription("private-1")
        for number in 1...20 {
            #expect(client.advance(by: .seconds(10)).changes == ["ask retry \(number - 1)"])
            // The first failure is reported.
            #expect(
                client.decide(.seconds(1)).told == (number == 1 ? ["failed private-1 authorizationFailed"] : [])
            )
            // The other channel was authorized in the meantime.
            client.authorized("private-2")
            client.received(.success("private-2"))
            #expect(client.advance(by: .seconds(1)).authorizations == ["authorize private-1 for 1.1"])
        }
        #expect(client.machine.subscriptions["private-2"]?.isSubscribed == true)
        #expect(client.machine.statistics(now: client.now).subscriptions.retried == 20)
        client.authorized("private-1")
        let transcript = client.received(.success("private-1"))
        #expect(transcript.told == ["subscribed private-1"] && transcript.outcomes == ["resume 1 done"])
        #expect(client.machine.session?.retries.isEmpty == true)
    }

    // MARK: Tries

    @Test("The policy decides the wait before a retry, which is never shorter than Retry-After")
    func retryAfter() {
        var client = client(["private-1"])
        #expect(client.authorized("private-1", busy(429, after: .seconds(7))).changes == ["ask retry 0 at least 7s"])
        #expect(client.decide(.seconds(2)).timers == ["set nextTry 7s"])
        #expect(client.advance(by: .seconds(7)).authorizations == ["authorize private-1 for 1.1"])
        #expect(client.authorized("private-1", busy()).changes == ["ask retry 1"])
        #expect(client.decide(.seconds(2)).timers == ["set nextTry 2s"])
        #expect(client.advance(by: .seconds(2)).authorizations == ["authorize private-1 for 1.1"])
    }

    @Test("The channel's status shows that the client tries again, until the channel is subscribed")
    func status() {
        var client = CoreClient()
        client.subscribe("private-1")
        let id = client.id(ofChannel: "private-1")
        func status() -> SubscriptionStatus { client.machine.subscriptionStatus(of: "private-1", id) }
        #expect(status() == .waitingForConnection)
        client.connect()
        client.establish()
        #expect(status() == .subscribing)
        client.authorized("private-1", busy())
        client.decide(.seconds(1))
        guard case .retrying(let error) = status() else {
            Issue.record("\(status())")
            return
        }
        #expect(error.code == .authorizationFailed && error.httpStatus == 503)
        client.advance(by: .seconds(1))
        #expect(status() == .retrying(error))
        client.authorized("private-1")
        #expect(status() == .retrying(error))
        client.received(.success("private-1"))
        #expect(status() == .subscribed)
        client.closed()
        #expect(status() == .waitingForConnection)
        client.unsubscribe("private-1")
        #expect(status() == .unsubscribed)
    }

    @Test("The status of a presence channel that waits for the sign-in shows that the sign-in failed")
    func statusWithoutUser() {
        var client = CoreClient.connected()
        client.signIn()
        client.subscribe("presence-1")
        client.authorized("presence-1", .success(Authorization(auth: "key:1.1/presence-1")))
        let id = client.id(ofChannel: "presence-1")
        func status() -> SubscriptionStatus { client.machine.subscriptionStatus(of: "presence-1", id) }
        #expect(status() == .subscribing)
        client.authorized(nil, busy())
        client.decide(.seconds(1))
        guard case .retrying(let error) = status() else {
            Issue.record("\(status())")
            return
        }
        #expect(error.code == .authorizationFailed && error.httpStatus == 503)
        #expect(error.message.contains("waits for the sign-in"))
        client.advance(by: .seconds(1))
        client.authorized(nil)
        client.received(.signedIn("u"))
        #expect(status() == .subscribing)
    }

    @Test("Only failed authorizations count as tries, and unanswered requests do not")
    func unansweredRequests() {
        var client = CoreClient.connected { $0.authorizationTries = 2 }
        client.signIn()
        for _ in 1...3 {
            client.authorized(nil)
            client.advance(by: .seconds(10))
            client.decide(.zero)
            client.advance(by: .zero)
        }
        client.authorized(nil, busy())
        #expect(client.decide(.zero).told == [])
        #expect(client.advance(by: .zero).authorizations == ["authorize the user for 1.1"])
        #expect(client.authorized(nil, busy()).told == ["sign-in signInFailed"])
    }

    @Test("After a new connection, the first failure is reported again, and the waits begin again")
    func newConnection() {
        var client = client(["private-1"])
        for number in 0...3 {
            #expect(client.authorized("private-1", busy()).changes == ["ask retry \(number)"])
            client.decide(.zero)
            client.advance(by: .zero)
        }
        client.closed()
        client.connect()
        client.establish()
        #expect(client.authorized("private-1", busy()).changes == ["ask retry 0"])
        #expect(client.decide(.zero).told == ["failed private-1 authorizationFailed"])
    }

    @Test("While the client waits before another try, only resubscribe() tries at once")
    func callsWhileWaiting() {
        var client = client(["private-1"])
        client.authorized("private-1", busy())
        client.decide(.seconds(20))
        #expect(client.subscribe("private-1") == [])
        #expect(
            client.resubscribe("private-1") == [
                "stop nextTry", "authorize private-1 for 1.1", "set authorization 10s",
            ]
        )
    }

    @Test("A failure that cannot pass ends the retries")
    func thenRefused() {
        var client = client(["private-1"])
        client.awaitSubscription("private-1")
        client.authorized("private-1", busy())
        client.decide(.zero)
        client.advance(by: .zero)
        let transcript = client.authorized("private-1", forbidden)
        #expect(transcript.told == ["failed private-1 authorizationFailed"])
        #expect(transcript.outcomes == ["resume 1 failed authorizationFailed"])
        #expect(client.advance(by: .seconds(60)) == [])
    }

    @Test("A negative wait counts as zero", arguments: [Duration.seconds(-3), .zero])
    func senselessWait(delay: Duration) {
        var client = client(["private-1"])
        client.authorized("private-1", busy(after: delay))
        #expect(client.decide(.seconds(-1)).timers == ["set nextTry 0s"])
        #expect(client.advance(by: .zero).authorizations == ["authorize private-1 for 1.1"])
    }

    @Test("The options can limit the number of tries", arguments: 1...4)
    func tries(count: Int) {
        var client = CoreClient.connected { $0.authorizationTries = count }
        client.subscribe("private-1")
        for number in 1..<max(count, 1) {
            #expect(client.authorized("private-1", busy()).told == [])
            let report = number == 1 ? ["failed private-1 authorizationFailed"] : []
            #expect(client.decide(.zero).told.words == report)
            client.advance(by: .zero)
        }
        #expect(client.authorized("private-1", busy()).told == ["failed private-1 authorizationFailed"])
        #expect(client.advance(by: .seconds(60)) == [])
    }

    @Test("The subscription fails with the last error if the policy stops the retries")
    func policyGivesUp() {
        var client = client(["private-1"])
        client.awaitSubscription("private-1")
        client.authorized("private-1", busy())
        #expect(
            client.decide(nil) == ["failed private-1 authorizationFailed", "resume 1 failed authorizationFailed"]
        )
        guard case .failed(let error)? = client.machine.subscriptions["private-1"]?.phase else {
            Issue.record("the subscription did not fail")
            return
        }
        #expect(error.httpStatus == 503 && error.cause as? AuthorizationError != nil)
    }

    @Test("The client does not retry after a permanent failure")
    func notRecoverable() {
        var client = client(["private-1"])
        #expect(client.authorized("private-1", forbidden).told == ["failed private-1 authorizationFailed"])
        #expect(client.advance(by: .seconds(60)) == [])
        // The next call and the next connection start with a first try.
        #expect(client.subscribe("private-1").authorizations == ["authorize private-1 for 1.1"])
        client.authorized("private-1", forbidden)
        client.closed()
        client.connect()
        #expect(client.establish().authorizations == ["authorize private-1 for 2.1"])
    }

    @Test("The recovery `askOnceMore` leads to one immediate retry that does not count as a try")
    func askOnceMore() {
        var client = CoreClient.connected { $0.authorizationTries = 3 }
        client.subscribe("private-1")
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

    @Test("The recovery `askOnceMore` leads to one retry even after the last try", arguments: 1...3)
    func askOnceMoreLast(tries: Int) {
        var client = CoreClient.connected { $0.authorizationTries = tries }
        client.subscribe("private-1")
        for _ in 1..<max(tries, 1) {
            client.authorized("private-1", busy())
            client.decide(.zero)
            client.advance(by: .zero)
        }
        #expect(
            client.authorized("private-1", expired).authorizations == ["authorize private-1 for 1.1 again 2"]
        )
        #expect(client.authorized("private-1", expired).told == ["failed private-1 authorizationFailed"])
    }

    // MARK: Late answers

    @Test("The client uses the first of two answers")
    func doubleAnswer() throws {
        var client = client(["private-1"])
        let id = try #require(client.ledger.authorizations.keys.first)
        client.authorized("private-1")
        #expect(client.answer(id, forbidden) == [])
        #expect(client.phase(of: "private-1") == "subscribing")
    }

    @Test("The client ignores an answer to an earlier try")
    func earlierTry() throws {
        var client = client(["private-1"])
        let id = try #require(client.ledger.authorizations.keys.first)
        client.advance(by: .seconds(10))
        // The same late answer comes three times: while the policy decides, during the wait, and during the second try.
        #expect(client.answer(id, forbidden) == [])
        client.decide(.seconds(1))
        #expect(client.answer(id, forbidden) == [])
        client.advance(by: .seconds(1))
        #expect(client.answer(id, forbidden) == [])
        #expect(client.authorized("private-1").wire == ["send 1 subscribe private-1"])
    }

    enum Phase: CaseIterable { case queued, trying, asking, waiting }

    /// Returns a client in the given phase, and the pending question.
    private func client(in phase: Phase) throws -> (CoreClient, AuthorizationTry?) {
        var client = client(["private-0", "private-1"], atOnce: phase == .queued ? 1 : 2)
        let id = client.ledger.authorizations.first { $0.value.subject == .channel("private-1") }?.key
        switch phase {
        case .queued, .trying: break
        case .asking: client.authorized("private-1", busy())
        case .waiting:
            client.authorized("private-1", busy())
            client.decide(.seconds(1))
        }
        return (client, id)
    }

    @Test("unsubscribe() cancels an authorization in every phase", arguments: Phase.allCases)
    func unsubscribe(phase: Phase) throws {
        var (client, id) = try client(in: phase)
        #expect(client.unsubscribe("private-1").told == ["retired private-1"])
        #expect(client.machine.authorizations.jobs.count == 1)
        if let id { #expect(client.answer(id, forbidden) == []) }
        #expect(client.decide(.zero) == [])
        client.authorized("private-0")
        #expect(client.advance(by: .seconds(60)).authorizations == [])
        // A new subscription starts with a first try.
        #expect(client.subscribe("private-1").authorizations == ["authorize private-1 for 1.1"])
    }

    @Test(
        "The client cancels all authorizations when the connection is lost",
        arguments: Phase.allCases,
        [true, false]
    )
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
