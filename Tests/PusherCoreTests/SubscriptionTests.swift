import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

@Suite("Subscriptions", .limited)
struct SubscriptionTests {
    @Test("The client subscribes a channel at once if there is a connection")
    func subscribe() {
        var client = CoreClient.connected()
        #expect(client.subscribe("a") == ["send 1 subscribe a", "set subscription 10s"])
        #expect(client.subscribe("b") == ["send 1 subscribe b"])
        #expect(client.received(.success("a")) == ["subscribed a"])
        #expect(client.machine.subscriptions["a"]?.isSubscribed == true)
        #expect(client.machine.subscriptions["b"]?.isSubscribed == false)
    }

    @Test("The client subscribes earlier channels when it connects, oldest first")
    func subscribeBeforeConnecting() {
        var client = CoreClient()
        for name in ["c", "a", "b"] { #expect(client.subscribe(name) == []) }
        client.connect()
        for name in ["e", "d"] { #expect(client.subscribe(name) == []) }
        #expect(client.establish().wire == Transcript(["c", "a", "b", "e", "d"].map { "send 1 subscribe \($0)" }))
    }

    @Test("The client does not repeat an existing or pending subscription")
    func noDuplicates() {
        var client = CoreClient.connected()
        client.subscribe("a")
        #expect(client.subscribe("a") == [])
        client.received(.success("a"))
        #expect(client.subscribe("a") == [])
        #expect(client.received(.success("a")) == [])
    }

    @Test("unsubscribe() retires the channel and tells the server")
    func unsubscribe() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.received(.success("a"))
        #expect(client.unsubscribe("a") == ["retired a", "send 1 unsubscribe a"])
        #expect(client.unsubscribe("a") == [])
        #expect(client.received(.message("a")) == [])
        #expect(client.subscribe("a").wire == ["send 1 subscribe a"])
        #expect(client.unsubscribe("never") == [])
    }

    @Test("The client unsubscribes a pending channel after the server's answer")
    func unsubscribePending() {
        var client = CoreClient.connected()
        client.subscribe("a")
        #expect(client.unsubscribe("a") == ["retired a"])
        #expect(client.received(.message("a")) == [])
        #expect(client.received(.success("a")) == ["send 1 unsubscribe a"])
        #expect(client.machine.subscriptions.isEmpty)
    }

    @Test("A refusal of an unsubscribed channel has no effect")
    func refusedAfterUnsubscribe() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.unsubscribe("a")
        #expect(client.received(.refusal("a")) == [])
        #expect(client.machine.subscriptions.isEmpty)
    }

    @Test("subscribe() continues the pending subscription of an unsubscribed channel")
    func wantAgain() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.unsubscribe("a")
        #expect(client.subscribe("a") == [])
        #expect(client.received(.success("a")) == ["subscribed a"])
        #expect(client.received(.message("a")) == ["deliver a message"])
    }

    @Test("If a channel is wanted again, only new leases count, and the client unsubscribes after the last one")
    func wantAgainWithoutLeases() {
        var client = CoreClient.connected()
        let first = client.lease("a")
        client.unsubscribe("a")
        let second = client.lease("a")
        client.received(.success("a"))
        #expect(client.endLease("a", first) == [])
        #expect(client.endLease("a", second) == ["retired a", "send 1 unsubscribe a"])
    }

    @Test("If a channel is wanted again, the client unsubscribes after its lease, even after an earlier subscribe()")
    func wantAgainWithoutHold() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.unsubscribe("a")
        let lease = client.lease("a")
        client.received(.success("a"))
        #expect(client.endLease("a", lease) == ["retired a", "send 1 unsubscribe a"])
    }

    @Test("A channel that is wanted again has no subscription count until the server sends one")
    func wantAgainWithoutCount() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.received(.subscriptionCount("a", #"{"subscription_count":3}"#))
        client.unsubscribe("a")
        client.subscribe("a")
        #expect(client.machine.subscriptions["a"]?.subscriptionCount == nil)
    }

    @Test("A channel that is wanted again does not use an earlier authorization from the app")
    func wantAgainWithoutOwnAuthorization() {
        let name = "private-a"
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        client.subscribe(name, auth: .good(AuthorizationQuestion(.channel(name), socketID: "1.1")))
        client.unsubscribe(name)
        client.subscribe(name)
        // After a refusal, the client would try an authorization from the app if it still had one.
        #expect(client.received(.refusal(name)).acts == ["failed \(name) subscriptionRefused 401"])
    }

    @Test("If the server confirms an unwanted channel, the client unsubscribes it")
    func unwantedSuccess() {
        var client = CoreClient.connected()
        #expect(client.received(.success("stranger")) == ["send 1 unsubscribe stranger"])
        #expect(client.received(Envelope(event: EventName.subscriptionSucceededInternal)) == [])
    }

    @Test("The client resubscribes wanted channels in order after a loss, and reports the time away")
    func resubscribe() {
        var client = CoreClient.connected()
        for name in ["c", "a", "b", "gone", "pending", "refused"] { client.subscribe(name) }
        for name in ["c", "a", "b", "gone"] { client.received(.success(name)) }
        client.received(.refusal("refused"))
        client.unsubscribe("gone")
        client.unsubscribe("a")
        client.subscribe("a")
        client.received(.success("a"))
        client.closed()
        client.decide(.seconds(3))
        #expect(client.advance(by: .seconds(3)).wire == ["open 2"])
        client.advance(by: .seconds(1))
        #expect(
            client.establish().wire
                == Transcript(["c", "b", "pending", "refused", "a"].map { "send 2 subscribe \($0)" })
        )
        client.advance(by: .milliseconds(500))
        #expect(client.received(.success("c")) == ["subscribed c away 4.5s"])
        #expect(client.received(.success("pending")) == ["subscribed pending"])
        #expect(client.received(.success("refused")) == ["subscribed refused"])
    }

    @Test("After several losses in a row, the time away counts from the first loss")
    func awayOverSeveralLosses() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.received(.success("a"))
        for _ in 0..<2 {
            client.closed()
            client.decide(.seconds(2))
            client.advance(by: .seconds(2))
            client.establish()
        }
        #expect(client.received(.success("a")) == ["subscribed a away 4s"])
        client.closed(code: 1006)
        client.disconnect()
        client.advance(by: .seconds(60))
        client.connect()
        client.establish()
        #expect(client.received(.success("a")) == ["subscribed a away 60s"])
    }

    @Test("A channel that the app unsubscribes and subscribes again reports no time away")
    func newChannelWasNotAway() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.received(.success("a"))
        client.closed()
        client.unsubscribe("a")
        client.subscribe("a")
        client.connect()
        client.establish()
        #expect(client.received(.success("a")) == ["subscribed a"])
    }

    @Test("An unanswered subscription is reported after its timeout, but a late answer still counts")
    func timeout() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.advance(by: .seconds(4))
        client.subscribe("b")
        #expect(client.advance(by: .milliseconds(5_999)) == [])
        #expect(client.advance(by: .milliseconds(1)) == ["ask retry 0", "set subscription 4s"])
        #expect(client.decide(.seconds(1)) == ["set nextTry 1s", "failed a subscriptionTimedOut"])
        #expect(client.received(.success("a")) == ["stop nextTry", "subscribed a"])
        #expect(client.received(.success("b")) == ["subscribed b"])
        #expect(client.advance(by: .seconds(60)) == [])
    }

    @Test("The next call repeats a subscription that has timed out, if the policy has stopped the client")
    func subscribeAfterTimeout() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.advance(by: .seconds(10))
        client.decide(nil)
        #expect(client.subscribe("a") == ["send 1 subscribe a", "set subscription 10s"])
    }

    @Test(
        "After an unsubscribe during a pending subscription, the client waits for the server's answer until the timeout"
    )
    func timeoutOfUnwanted() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.unsubscribe("a")
        #expect(client.advance(by: .seconds(10)) == ["send 1 unsubscribe a"])
        #expect(client.machine.subscriptions.isEmpty)
        #expect(client.subscribe("a").wire == ["send 1 subscribe a"])
    }

    @Test(
        "A subscription to an invalid name fails at once, and the client never sends the name",
        arguments: [
            ("", "invalidChannelName"), ("a b", "invalidChannelName"), ("#server-to-user-1", "invalidChannelName"),
            ("größe", "invalidChannelName"), (String(repeating: "a", count: 201), "invalidChannelName"),
        ]
    )
    func invalidNames(name: String, code: String) {
        var client = CoreClient.connected()
        #expect(client.subscribe(name) == ["failed \(name) \(code)"])
        #expect(client.subscribe(name) == [])
        #expect(client.received(.success(name)) == [])
        client.closed()
        client.connect()
        #expect(client.establish().wire == [])
        #expect(client.unsubscribe(name) == ["retired \(name)"])
    }

    @Test("The client keeps the subscription count, even zero, and reports an invalid count")
    func subscriptionCount() {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.received(.success("a"))
        for number in [3, 0] {
            #expect(
                client.received(.subscriptionCount("a", #"{"subscription_count":\#(number)}"#)) == ["count a \(number)"]
            )
            #expect(client.machine.subscriptions["a"]?.subscriptionCount == number)
        }
        for data in [
            "", "{}", #"{"subscription_count":-1}"#, #"{"subscription_count":"x"}"#, #"{"subscription_count":1e99}"#,
        ] {
            #expect(client.received(.subscriptionCount("a", data)) == ["report malformedMessage of a"])
        }
        #expect(client.received(.subscriptionCount("stranger", #"{"subscription_count":3}"#)) == [])
        #expect(client.received(.subscriptionCount(nil, #"{"subscription_count":3}"#)) == [])
    }

    @Test("The client delivers events of wanted channels, and events without a channel")
    func delivery() {
        var client = CoreClient.connected()
        client.subscribe("a")
        #expect(client.received(.message("a")) == ["deliver a message"])
        #expect(client.received(.message(nil)) == ["deliver - message"])
        #expect(client.received(.message("stranger")) == [])
        #expect(client.received(Envelope(event: "pusher:cache_miss", channel: "a")) == ["cache miss a"])
        #expect(client.received(Envelope(event: "pusher_internal:new", channel: "a")) == [])
        client.disconnect()
        #expect(client.received(.message("a")) == [])
    }

    @Test("unsubscribeAll() unsubscribes from every channel, oldest first")
    func unsubscribeAll() {
        var client = CoreClient.connected()
        for name in ["b", "a", "c"] { client.subscribe(name) }
        for name in ["b", "a"] { client.received(.success(name)) }
        let transcript = client.unsubscribeAll()
        #expect(transcript == ["retired b", "send 1 unsubscribe b", "retired a", "send 1 unsubscribe a", "retired c"])
        #expect(client.machine.wantedSubscriptions.isEmpty)
    }
}
