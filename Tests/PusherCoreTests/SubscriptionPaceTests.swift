import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Tests of servers like Reverb, which can count subscriptions in a rate limit. Beyond the limit, Reverb answers with
/// an error that names no channel.
@Suite("Rate limits that count subscriptions", .limited)
struct SubscriptionPaceTests {
    private let exceeded = Envelope.error(4301, "Rate limit exceeded")

    /// Returns a client that subscribes to `a1`, `a2`…, of which the server accepts only the first `taken`.
    private func client(_ count: Int, taken: Int) -> CoreClient {
        var client = CoreClient.connected()
        for number in 1...count { client.subscribe("a\(number)") }
        answer(&client, 1...count, taken: taken)
        return client
    }

    private func answer(_ client: inout CoreClient, _ numbers: ClosedRange<Int>, taken: Int) {
        for number in numbers {
            if number - numbers.lowerBound < taken {
                client.received(.success("a\(number)"))
            } else {
                client.received(exceeded)
            }
        }
    }

    private func sent(_ numbers: ClosedRange<Int>, on attempt: Int = 1) -> Transcript {
        numbers.map { ["send \(attempt) subscribe a\($0)"] }.reduce([], +)
    }

    private func isSubscribed(_ client: CoreClient, _ numbers: ClosedRange<Int>) -> Bool {
        numbers.allSatisfy { client.machine.subscriptions["a\($0)"]?.isSubscribed == true }
    }

    /// Answers like a server that accepts `limit` subscriptions in each second, and returns the number of sent
    /// subscriptions.
    private func serve(_ client: inout CoreClient, limit: Int, _ first: Transcript, seconds: Int) -> Int {
        var words = first.wire.words
        var count = 0
        for _ in 0..<(seconds * 10) {
            count += words.count
            for (place, word) in words.enumerated() {
                let name = word.split(separator: " ").last.map(String.init) ?? ""
                client.received(place < limit ? .success(name) : exceeded)
            }
            words = client.advance(by: .milliseconds(100)).wire.words.filter { $0.contains(" subscribe ") }
        }
        return count
    }

    @Test("The client reports a rate limit once, and sends affected subscriptions again after a second")
    func burst() {
        var client = CoreClient.connected()
        for number in 1...12 { client.subscribe("a\(number)") }
        for number in 1...5 { client.received(.success("a\(number)")) }
        #expect(client.received(exceeded).told == ["report serverError 4301"])
        for _ in 7...12 { #expect(client.received(exceeded).told == []) }
        #expect(client.advance(by: .milliseconds(999)) == [])
        #expect(client.advance(by: .milliseconds(1)).wire == sent(6...10))
        answer(&client, 6...10, taken: 5)
        #expect(client.advance(by: .milliseconds(999)).wire == [])
        #expect(client.advance(by: .milliseconds(1)).wire == sent(11...12))
        answer(&client, 11...12, taken: 2)
        #expect(isSubscribed(client, 1...12))
        #expect(client.machine.statistics(now: client.now).subscriptions.repeated == 7)
        #expect(client.advance(by: .seconds(100)).wire.words.allSatisfy { $0.contains("ping") })
    }

    @Test("The timeout of a subscription begins when the client sends it")
    func deadline() {
        var client = client(3, taken: 1)
        #expect(client.advance(by: .seconds(1)).wire == sent(2...2))
        // The other subscriptions wait for the answer to the probe.
        #expect(client.advance(by: .milliseconds(9_999)).wire == [])
        let transcript = client.advance(by: .milliseconds(1_001))
        #expect(client.decide(.seconds(60)).told == ["failed a2 subscriptionTimedOut"])
        #expect(transcript.wire == sent(3...3))
        #expect(client.phase(of: "a3") == "subscribing")
    }

    @Test("A batch grows if the server accepted the whole last batch, and otherwise has the size that it accepted")
    func growth() {
        var client = client(20, taken: 2)
        #expect(client.advance(by: .seconds(1)).wire == sent(3...4))
        answer(&client, 3...4, taken: 2)
        #expect(client.advance(by: .seconds(1)).wire == sent(5...7))
        answer(&client, 5...7, taken: 3)
        #expect(client.advance(by: .seconds(1)).wire == sent(8...11))
        answer(&client, 8...11, taken: 3)
        #expect(client.advance(by: .seconds(1)).wire == sent(11...13))
    }

    @Test("The client probes with one subscription at a time if the window is longer than a second")
    func longWindow() {
        var client = client(10, taken: 6)
        #expect(client.advance(by: .seconds(1)).wire == sent(7...10))
        answer(&client, 7...10, taken: 0)
        // The probes come 3, 7, 15, 31 and 61 s after the last accepted subscription.
        for wait in [2, 4, 8, 16, 30] {
            #expect(
                client.advance(by: .seconds(wait) - .milliseconds(1)).wire.words.filter { $0.contains("sub") } == []
            )
            #expect(client.advance(by: .milliseconds(1)).wire == sent(7...7))
            if wait < 30 { client.received(exceeded) }
        }
        #expect(client.received(.success("a7")).wire == sent(8...10))
        answer(&client, 8...10, taken: 3)
        #expect(isSubscribed(client, 1...10))
    }

    @Test("If the server accepts no subscription for a minute and a half, the retry policy decides")
    func forever() {
        var client = CoreClient.connected()
        var transcript: Transcript = []
        for number in 1...3 { transcript = transcript + client.subscribe("a\(number)") }
        let count = serve(&client, limit: 0, transcript, seconds: 100)
        #expect(count == 3 + 7)
        for number in 1...3 { #expect(client.phase(of: "a\(number)") == "retrying") }
        #expect(client.timer(.subscriptionPace) == nil)
        client.awaitSubscription("a2")
        let failures = client.decide(.seconds(2), last: 3)
        #expect(failures.told.words == (1...3).map { "failed a\($0) subscriptionRefused 4301" })
        #expect(failures.outcomes == [])
        let status = client.machine.subscriptionStatus(of: "a2", client.id(ofChannel: "a2"))
        guard case .retrying(let error) = status else {
            Issue.record("\(status)")
            return
        }
        #expect(error.message == "Rate limit exceeded" && error.serverCode == 4301)
        // The next failure is not told.
        let again = client.advance(by: .seconds(2))
        #expect(again.wire == sent(1...1))
        #expect(serve(&client, limit: 0, again, seconds: 100) == 8)
        #expect(client.decide(.seconds(2), last: 3).told == [])
        // The app skips the wait, and the server's limit has passed.
        let last = client.resubscribe("a2")
        #expect(last.wire == sent(2...2))
        _ = serve(&client, limit: 1, last, seconds: 10)
        #expect(isSubscribed(client, 1...3))
    }

    @Test("A subscription that the limit holds back is repeated with the signature that it has")
    func signature() {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        let sent = client.authorized("private-a")
        #expect(sent.wire.words.count == 1)
        _ = serve(&client, limit: 0, sent, seconds: 100)
        #expect(client.phase(of: "private-a") == "retrying")
        client.decide(.seconds(2))
        #expect(client.advance(by: .seconds(2)).wire == sent.wire)
    }

    @Test("Repeated errors delay a subscription for at most five seconds")
    func endless() {
        var client = client(2, taken: 1)
        var wire: [String] = []
        for _ in 1...49 {
            wire += client.advance(by: .milliseconds(100)).wire.words
            client.received(exceeded)
        }
        #expect(wire == [])
        #expect(client.advance(by: .milliseconds(100)).wire == sent(2...2))
    }

    // MARK: Calls of the app during a rate limit

    @Test("A new subscription waits behind earlier ones while the server accepts no more")
    func subscribedMeanwhile() {
        var client = client(3, taken: 1)
        #expect(client.subscribe("new").wire == [])
        #expect(client.phase(of: "new") == "queued")
        #expect(client.subscribe("new").wire == [] && client.resubscribe("new").wire == [])
        #expect(client.advance(by: .seconds(1)).wire == sent(2...2))
        client.received(.success("a2"))
        #expect(client.advance(by: .seconds(1)).wire == sent(3...3) + ["send 1 subscribe new"])
    }

    @Test("After an unsubscribe, the client removes a queued subscription, or unsubscribes from a sent subscription")
    func unsubscribed() {
        var client = client(3, taken: 1)
        client.subscribe("new")
        client.advance(by: .seconds(1))
        #expect(client.phase(of: "a3") == "queued")
        #expect(client.unsubscribe("new").wire == [])
        // The server may have accepted `a3` nevertheless.
        #expect(client.unsubscribe("a3").wire == ["send 1 unsubscribe a3"])
        client.received(.success("a2"))
        #expect(client.advance(by: .seconds(5)).wire == [])
        #expect(client.subscribe("new").wire == ["send 1 subscribe new"])
    }

    @Test("The client accepts a late confirmation, and does not repeat the subscription")
    func confirmedLate() {
        var client = client(3, taken: 1)
        client.advance(by: .seconds(1))
        #expect(client.phase(of: "a3") == "queued")
        #expect(client.received(.success("a3")).told == ["subscribed a3"])
        client.received(.success("a2"))
        #expect(client.advance(by: .seconds(5)).wire == [])
    }

    @Test("A call that waits for a subscription succeeds after the client has repeated the subscription")
    func waiting() {
        var client = client(2, taken: 1)
        client.advance(by: .milliseconds(500))
        #expect(client.awaitSubscription("a2") == [])
        client.advance(by: .milliseconds(500))
        #expect(client.received(.success("a2")).outcomes == ["resume 1 done"])
    }

    // MARK: Other connections

    @Test("The next connection keeps the learned pace")
    func nextConnection() {
        var client = client(12, taken: 5)
        client.advance(by: .seconds(1))
        client.closed(code: 1011)
        client.connect()
        #expect(client.establish().wire == sent(1...5, on: 2))
        answer(&client, 1...5, taken: 5)
        #expect(client.advance(by: .seconds(1)).wire == sent(6...11, on: 2))
    }

    @Test("The client does not exceed the learned pace on a server that drops connections")
    func dropped() {
        var client = client(6, taken: 5)
        client.closed()
        for number in 7...20 { client.subscribe("a\(number)") }
        client.connect()
        #expect(client.establish().wire == sent(1...5, on: 2))
        for first in [1, 6, 11, 16] {
            answer(&client, first...(first + 4), taken: 5)
            guard first < 16 else { break }
            #expect(client.advance(by: .seconds(1)).wire == sent((first + 5)...(first + 9), on: 2))
        }
        #expect(isSubscribed(client, 1...20))
    }

    @Test("Two losses in the middle of a burst, without an error, limit the next bursts to what the server answered")
    func droppedWithoutError() {
        var client = CoreClient.connected()
        for number in 1...12 { client.subscribe("a\(number)") }
        for attempt in 1...2 {
            answer(&client, 1...5, taken: 5)
            client.closed()
            client.connect()
            let count = attempt == 1 ? 12 : 5
            #expect(client.establish().wire == sent(1...count, on: attempt + 1))
        }
        for first in [1, 6, 11] {
            answer(&client, first...min(first + 4, 12), taken: 5)
            guard first < 11 else { break }
            #expect(client.advance(by: .seconds(1)).wire == sent((first + 5)...min(first + 9, 12), on: 3))
        }
        #expect(isSubscribed(client, 1...12))
    }

    @Test(
        "Two losses limit no burst if one has a reason, comes late, or comes before any answer",
        arguments: ["reason", "late", "unanswered", "none pending"]
    )
    func droppedForAnotherReason(kind: String) {
        var client = CoreClient.connected()
        for number in 1...12 { client.subscribe("a\(number)") }
        for attempt in 1...2 {
            let isSecond = attempt == 2
            let taken = kind == "none pending" ? 12 : kind == "unanswered" && isSecond ? 0 : 5
            if taken > 0 { answer(&client, 1...taken, taken: taken) }
            if kind == "late", isSecond { client.advance(by: .seconds(2)) }
            client.closed(code: kind == "reason" && isSecond ? 4200 : nil)
            client.connect()
            #expect(client.establish().wire == sent(1...12, on: attempt + 1))
        }
    }

    @Test("The client halves the pace after a lost connection if other messages exceeded the limit")
    func droppedForOthers() {
        var client = client(6, taken: 5)
        client.closed()
        client.connect()
        #expect(client.establish().wire == sent(1...5, on: 2))
        answer(&client, 1...5, taken: 5)
        client.signIn()
        client.authorized(nil)
        client.received(exceeded)
        client.closed()
        client.connect()
        #expect(client.establish().wire == sent(1...2, on: 3))
    }

    @Test("The client repeats a subscription after an error, even if the next window is far away")
    func hitBeforeLongWait() {
        var client = client(6, taken: 2)
        for _ in 1...4 {
            client.advance(by: .seconds(40))
            client.received(exceeded)
        }
        client.advance(by: .seconds(40))
        client.received(.success("a3"))
        client.closed()
        client.connect()
        let names = client.establish().wire.words.compactMap { $0.split(separator: " ").last.map(String.init) }
        for name in names.dropLast() { client.received(.success(name)) }
        client.received(exceeded)
        let later = client.advance(by: .seconds(5)).wire.words
        #expect(later.first == names.last.map { "send 2 subscribe \($0)" })
    }

    @Test("A connection that is lost long after an error about the limit does not change the pace")
    func oldError() {
        var client = client(5, taken: 5)
        client.advance(by: .seconds(2))
        client.subscribe("a6")
        client.received(.success("a6"))
        client.signIn()
        client.authorized(nil)
        client.received(exceeded)
        client.advance(by: .seconds(60))
        client.closed()
        client.connect()
        #expect(client.establish().wire.words.filter { $0.contains(" subscribe a") }.count == 6)
    }

    @Test(
        "The client sends a dropped, cancelled subscription again when the app subscribes again",
        arguments: [0, 5]
    )
    func droppedWhileUnwanted(seconds: Int) {
        var client = CoreClient.connected()
        for name in ["a1", "a2"] { client.subscribe(name) }
        client.unsubscribe("a2")
        client.received(.success("a1"))
        client.received(exceeded)
        client.advance(by: .seconds(seconds))
        var wire = client.subscribe("a2").wire.words
        wire += client.advance(by: .seconds(3)).wire.words
        #expect(wire.filter { $0.hasSuffix(" subscribe a2") }.count == 1)
        client.received(.success("a2"))
        #expect(isSubscribed(client, 1...2))
    }

    @Test("The client reports a server that drops every connection and accepts no subscription")
    func droppedForever() {
        var client = CoreClient.connected()
        client.subscribe("a1")
        client.awaitSubscription("a1")
        var failures = 0
        for _ in 1...16 {
            client.received(exceeded)
            let closed = client.closed()
            failures += closed.told.words.count { $0 == "failed a1 subscriptionRefused 4301" }
            // The client subscribes again on the next connection.
            #expect(closed.outcomes == [])
            client.decide(.zero)
            client.advance(by: .zero)
            client.establish()
        }
        #expect(failures == 2)
    }

    @Test("An unsubscribed channel stays unsubscribed after the server drops the connection")
    func droppedAndUnsubscribed() {
        var client = CoreClient.connected()
        client.subscribe("a1")
        for _ in 1...16 {
            var other = client
            other.unsubscribe("a1")
            other.received(exceeded)
            #expect(!other.closed().told.words.contains { $0.hasPrefix("failed") })
            other.connect()
            #expect(other.establish().wire == [])
            client.received(exceeded)
            client.closed()
            client.connect()
            client.establish()
        }
    }

    @Test("The pace learned for one endpoint does not apply to another endpoint")
    func switched() {
        var client = client(12, taken: 5)
        client.switchTo("second.example")
        #expect(client.establish().wire == sent(1...12, on: 2))
    }

    @Test("The client forgets the learned pace after ten minutes without an error", arguments: [599, 600])
    func forgotten(seconds: Int) {
        var client = client(12, taken: 5)
        client.disconnect()
        client.closed(code: 1000)
        client.advance(by: .seconds(seconds))
        client.connect()
        #expect(client.establish().wire == sent(1...(seconds < 600 ? 5 : 12), on: 2))
    }

    // MARK: Other messages

    @Test("A rate-limit error belongs to a client event that was just sent")
    func clientEvents() {
        var client = CoreClient.subscribed("private-a")
        client.trigger("client-1", on: "private-a")
        client.subscribe("a1")
        #expect(client.received(exceeded).told.words.first == "report clientEventRejected 4301 of private-a")
        #expect(client.subscribe("a2").wire == sent(2...2))
        #expect(client.advance(by: .seconds(2)).wire == [])
        #expect(client.received(.success("a1")).told == ["subscribed a1"])
    }

    @Test("A rate-limit error belongs to subscriptions if it cannot belong to a recent client event")
    func notClientEvents() {
        var client = CoreClient.subscribed("private-a")
        client.trigger("client-1", on: "private-a")
        client.subscribe("a1")
        client.received(exceeded)
        #expect(client.received(exceeded).told == ["report serverError 4301"])
        #expect(client.advance(by: .seconds(1)).wire == sent(1...1))
        client = CoreClient.subscribed("private-a")
        client.trigger("client-1", on: "private-a")
        client.advance(by: .seconds(2))
        client.subscribe("a1")
        #expect(client.received(exceeded).told == ["report serverError 4301"])
        #expect(client.advance(by: .seconds(1)).wire == sent(1...1))
    }

    @Test("A rate-limit error belongs to a subscription if the subscription gets no answer in time")
    func overdue() {
        var client = CoreClient.subscribed("private-a")
        client.trigger("client-1", on: "private-a")
        client.subscribe("a1")
        client.subscribe("a2")
        client.received(exceeded)
        #expect(client.received(.success("a2")).told == ["subscribed a2"])
        let transcript = client.advance(by: .seconds(10))
        #expect(transcript.wire == sent(1...1) && transcript.told == [])
        // The client now knows that the server counts subscriptions.
        client.trigger("client-2", on: "private-a")
        #expect(client.received(exceeded).told.words.first == "report clientEventRejected 4301 of private-a")
        #expect(client.advance(by: .seconds(1)).wire == sent(1...1))
        // This time the server sent no error.
        client.advance(by: .seconds(10))
        #expect(client.decide(nil).told == ["failed a1 subscriptionTimedOut"])
    }

    @Test("A rate-limit error belongs to a subscription if the server then drops the connection")
    func droppedWithClientEvent() {
        var client = CoreClient.subscribed("private-a")
        client.trigger("client-1", on: "private-a")
        for number in 1...4 { client.subscribe("a\(number)") }
        client.received(.success("a1"))
        client.received(exceeded)
        client.closed()
        client.connect()
        // The server accepted two subscriptions, `private-a` and `a1`, so the client sends two at once.
        #expect(client.establish().wire == sent(1...2, on: 2))
    }

    @Test("A rate-limit error without pending subscriptions delays no later subscription")
    func nothingPending() {
        var client = client(1, taken: 1)
        #expect(client.received(exceeded) == ["report serverError 4301"])
        #expect(client.subscribe("a2").wire == sent(2...2))
        #expect(client.received(.error(4301, "Client event rejected")).told == ["report clientEventRejected 4301"])
        #expect(client.advance(by: .seconds(5)).wire == [])
    }

    @Test("A subscription that the server refuses for another reason counts as accepted")
    func refusals() {
        let refusal = Envelope.error(4009, "Connection is unauthorized")
        var client = client(4, taken: 1)
        #expect(client.advance(by: .seconds(1)).wire == sent(2...2))
        client.received(refusal)
        #expect(client.phase(of: "a2") == "failed subscriptionRefused")
        // The server accepted the whole window, so the next window is larger.
        #expect(client.advance(by: .seconds(1)).wire == sent(3...4))
    }

    @Test("An error that names no channel fails only the last pending subscription")
    func refusalAmongThem() {
        var client = CoreClient.connected()
        for number in 1...3 { client.subscribe("a\(number)") }
        client.received(.error(4009, "Connection is unauthorized"))
        client.received(.success("a1"))
        client.received(exceeded)
        #expect(client.advance(by: .seconds(1)).wire == sent(2...2))
        #expect(client.received(.success("a2")).told == ["subscribed a2"])
        #expect(client.advance(by: .seconds(1)).wire == sent(3...3))
        #expect(
            client.received(.error(4009, "Connection is unauthorized")).told == [
                "report serverError 4009 of a3", "failed a3 subscriptionRefused 4009",
            ]
        )
    }
}
