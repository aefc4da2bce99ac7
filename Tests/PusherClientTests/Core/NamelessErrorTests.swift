import PusherClient
import PusherProtocol
import Testing

@testable import PusherCore

/// Reverb rejects requests without naming them (protocol clause 6.2). The other answers show which request an error
/// belongs to.
@Suite("Errors that name nothing")
struct NamelessErrorTests {
    private let refusal = Envelope.error(4009, "Connection is unauthorized")
    private let invalidMessage = Envelope.error(4200, "Invalid message format")
    private let report: Transcript = ["report serverError 4009"]

    private func client(pending: String...) -> CoreClient {
        var client = CoreClient.connected()
        for name in pending { client.subscribe(name) }
        return client
    }

    private func signingIn(pending: String...) -> CoreClient {
        var client = CoreClient.connected()
        client.signIn()
        client.authorized(nil)
        for name in pending { client.subscribe(name) }
        return client
    }

    // MARK: Subscriptions

    @Test("fails the one subscription that is left, as soon as the others are confirmed")
    func lastLeft() {
        var client = client(pending: "a", "b", "c")
        client.received(.success("b"))
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a", "failed c subscriptionRefused 4009"])
    }

    @Test("suspects nothing that was sent after the error")
    func sentLater() {
        var client = client(pending: "a", "b")
        client.received(refusal)
        client.subscribe("c")
        #expect(client.received(.success("c")).told == ["subscribed c"])
        #expect(client.received(.success("a")).told == ["subscribed a", "failed b subscriptionRefused 4009"])
        #expect(client.subscribe("d").wire == ["send 1 subscribe d"])
        #expect(client.received(.success("d")).told == ["subscribed d"])
    }

    @Test("fails as many as there were errors, as soon as no more are left")
    func several() {
        var client = client(pending: "a", "b", "c", "d")
        for _ in 1...2 { #expect(client.received(refusal).told == report) }
        #expect(client.received(.success("c")).told == ["subscribed c"])
        let end: Transcript = [
            "subscribed a", "failed b subscriptionRefused 4009", "failed d subscriptionRefused 4009",
        ]
        #expect(client.received(.success("a")).told == end)
    }

    @Test("fails those before the first error also where later ones are still in doubt")
    func nested() {
        var client = client(pending: "a", "b")
        client.received(refusal)
        client.subscribe("c")
        client.subscribe("d")
        client.received(refusal)
        #expect(client.received(.success("b")).told == ["subscribed b", "failed a subscriptionRefused 4009"])
        #expect(client.phase(of: "c") == "subscribing")
        #expect(client.received(.success("d")).told == ["subscribed d", "failed c subscriptionRefused 4009"])
    }

    @Test("fails both of two, where both were refused")
    func all() {
        var client = client(pending: "a", "b")
        #expect(client.received(refusal).told == report)
        #expect(
            client.received(refusal).told == report + [
                "failed a subscriptionRefused 4009", "failed b subscriptionRefused 4009",
            ]
        )
    }

    @Test("takes a refusal that names a channel for an answer too")
    func namedRefusal() {
        for answer in [Envelope.refusal("a"), .error(nil, "Auth info required to subscribe to a")] {
            var client = client(pending: "a", "b")
            client.received(refusal)
            let told = client.received(answer).told
            #expect(told.words.contains("failed b subscriptionRefused 4009"))
            #expect(told.words.contains { $0.hasPrefix("failed a subscriptionRefused") })
        }
    }

    @Test("counts no refusal of requests that are not awaited any more (seed 8486929)")
    func overdueRefusals() {
        var client = client(pending: "a", "b")
        client.received(refusal)
        client.advance(by: .seconds(18))
        client.subscribe("c")
        client.subscribe("d")
        client.advance(by: .seconds(3))
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("c")).told == ["subscribed c", "failed d subscriptionRefused 4009"])
    }

    @Test("suspects a subscription that was given up, until the server has answered it")
    func unwanted() {
        var client = client(pending: "a", "b")
        client.unsubscribe("a")
        #expect(client.received(refusal).told == report)
        let transcript = client.received(.success("a"))
        #expect(transcript.wire == ["send 1 unsubscribe a"])
        #expect(transcript.told == ["failed b subscriptionRefused 4009"])
    }

    @Test("A timeout is no answer, blames nobody, and says what the server has said")
    func timeout() throws {
        var client = client(pending: "a", "b")
        client.received(refusal)
        var transcript = client.advance(by: .seconds(10))
        #expect(transcript.told == ["failed a subscriptionTimedOut", "failed b subscriptionTimedOut"])
        for name in ["a", "b"] {
            guard case .failed(let error) = client.machine.subscriptions[name]?.phase else {
                Issue.record("\(name) has not failed")
                continue
            }
            #expect(error.message.contains(#""Connection is unauthorized" (4009)"#))
        }
        transcript = client.received(.success("b"))
        #expect(transcript.told == ["subscribed b"])
        client.subscribe("c")
        client.advance(by: .seconds(10))
        guard case .failed(let error) = client.machine.subscriptions["c"]?.phase else { return }
        // It was sent after the error.
        #expect(!error.message.contains("unauthorized"))
    }

    @Test("suspects a subscription that has timed out, until its answer comes")
    func overdue() {
        var client = client(pending: "a")
        client.advance(by: .seconds(10))
        client.subscribe("b")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a", "failed b subscriptionRefused 4009"])
    }

    @Test("suspects a subscription or sign-in that has timed out for no longer than another timeout")
    func expired() {
        let told: Transcript = ["report serverError 4009 of b", "failed b subscriptionRefused 4009"]
        for var client in [client(pending: "a"), signingIn()] {
            client.advance(by: .seconds(20))
            client.subscribe("b")
            #expect(client.received(refusal).told == told)
            // Its late answer has no further effect.
            client.received(.success("a"))
            #expect(client.phase(of: "b") == "failed subscriptionRefused")
        }
    }

    @Test("does not take a request for overdue because the computer was suspended")
    func suspended() {
        for var client in [client(pending: "a"), signingIn()] {
            client.suspend(for: .seconds(30))
            client.subscribe("b")
            #expect(client.received(refusal).told == report)
            #expect(client.phase(of: "b") == "subscribing")
        }
    }

    @Test("keeps no request for longer than two timeouts")
    func bounded() {
        var client = CoreClient.connected()
        for _ in 1...100 {
            client.subscribe("a")
            client.advance(by: .seconds(10))
            client.unsubscribe("a")
            // Without a frame, the client would drop the connection, and the requests with it.
            client.received(.pong)
        }
        #expect(client.state == .connected)
        #expect(client.machine.session.map { $0.requests.sent.count <= 3 } == true)
    }

    @Test("Two errors that may be about something else do not fail two subscriptions, and one that is left is at fault")
    func uncertain() {
        var client = client(pending: "a", "b")
        for _ in 1...2 { #expect(client.received(.error(nil, "no")).told == ["report serverError"]) }
        #expect(client.phase(of: "a") == "subscribing" && client.phase(of: "b") == "subscribing")
        #expect(client.received(.success("b")).told == ["subscribed b", "failed a subscriptionRefused"])
        client = self.client(pending: "a", "b")
        client.received(.error(nil, "no"))
        #expect(client.received(refusal).told == report)
    }

    @Test("blames nobody for what may have been the answer to an earlier try")
    func sentAgain() {
        var client = client(pending: "a", "b")
        client.received(.success("b"))
        client.advance(by: .seconds(10))
        client.subscribe("a")
        client.subscribe("c")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a"])
        #expect(client.phase(of: "c") == "subscribing")
        // The same if the app has unsubscribed from the first try.
        client = self.client(pending: "a")
        client.advance(by: .seconds(10))
        client.unsubscribe("a")
        client.subscribe("c")
        #expect(client.received(refusal).told == report)
        #expect(client.phase(of: "c") == "subscribing")
    }

    @Test("forgets all with the connection")
    func lost() {
        var client = client(pending: "a", "b")
        client.received(refusal)
        client.closed()
        client.connect()
        client.establish()
        #expect(client.received(.success("a")).told == ["subscribed a"])
        #expect(client.phase(of: "b") == "subscribing")
        #expect(client.received(refusal).told == ["report serverError 4009 of b", "failed b subscriptionRefused 4009"])
    }

    @Test("An error that names a channel which is subscribed is none of the pending one's")
    func namesAnother() {
        var client = client(pending: "chat")
        client.received(.success("chat"))
        client.subscribe("b")
        #expect(client.received(.error(nil, "chat is full")).told == ["report serverError"])
        #expect(client.phase(of: "b") == "subscribing")
    }

    // MARK: The sign-in

    @Test("fails the subscription where the sign-in succeeds, and its own channel is none of it")
    func signedIn() {
        var client = signingIn(pending: "a")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.signedIn("u")).told == ["signed in u", "failed a subscriptionRefused 4009"])
        #expect(client.machine.signIn.awaitedOwnChannel != nil)
    }

    @Test("fails the sign-in where the subscription succeeds")
    func notSignedIn() {
        var client = signingIn(pending: "a")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a", "sign-in signInFailed 4009"])
    }

    @Test("Reverb's answer to a sign-in that it does not know fails it with the server's words")
    func unknownSignIn() {
        var client = signingIn()
        #expect(client.received(invalidMessage).told == ["sign-in signInFailed 4200"])
        client = signingIn(pending: "a")
        #expect(client.received(invalidMessage).told == ["report serverError 4200"])
        #expect(client.received(.success("a")).told == ["subscribed a", "sign-in signInFailed 4200"])
    }

    @Test("fails no sign-in that was sent after the error")
    func signInAfterError() {
        // Reverb sends this for every internal error, also for one of a subscription.
        var client = client(pending: "a", "b")
        #expect(client.received(invalidMessage).told == ["report serverError 4200"])
        client.signIn()
        client.authorized(nil)
        #expect(client.received(.success("a")).told == ["subscribed a"])
        #expect(client.machine.signIn.isAwaitingServer)
        #expect(client.received(.signedIn("u")).told == ["signed in u"])
    }

    @Test("Reverb's words for an unknown message fail no subscription")
    func invalidMessageAndSubscription() {
        var client = client(pending: "a")
        #expect(client.received(invalidMessage).told == ["report serverError 4200"])
        #expect(client.phase(of: "a") == "subscribing")
        client = signingIn(pending: "a")
        client.received(invalidMessage)
        #expect(client.received(.signedIn("u")).told == ["signed in u"])
        #expect(client.phase(of: "a") == "subscribing")
    }

    @Test(
        "What soketi and pylon say before they close fails neither",
        arguments: ["Please reconnect immediately", "Generic reconnect immediately", "Server shutting down"]
    )
    func closing(message: String) {
        var client = signingIn()
        #expect(client.received(.error(4200, message)).told == ["report serverError 4200"])
        #expect(client.machine.signIn.isAwaitingServer)
        client = self.client(pending: "a")
        #expect(client.received(.error(4200, message)).told == ["report serverError 4200"])
        #expect(client.phase(of: "a") == "subscribing")
    }

    @Test("A sign-in that times out says what the server has said")
    func signInTimeout() {
        var client = signingIn(pending: "a")
        client.received(.error(4200, "Generic reconnect immediately"))
        client.advance(by: .seconds(10))
        guard case .failed(let error) = client.machine.signIn.phase else {
            Issue.record("not failed")
            return
        }
        #expect(error.message.contains(#""Generic reconnect immediately" (4200)"#))
    }

    // MARK: Other messages

    @Test("may be about a client event that was sent lately, but for the words that Reverb has for subscriptions")
    func clientEvents() {
        var client = CoreClient.subscribed("private-a")
        client.trigger("client-1", on: "private-a")
        client.subscribe("b")
        #expect(client.received(.error(nil, "no")).told == ["report serverError"])
        #expect(client.phase(of: "b") == "subscribing")
        client.signIn()
        client.authorized(nil)
        client.received(.success("b"))
        #expect(client.received(invalidMessage).told == ["report serverError 4200"])
        #expect(client.machine.signIn.isAwaitingServer)
        client.received(.signedIn("u"))
        client.received(.success("#server-to-user-u"))
        client.subscribe("c")
        #expect(client.received(refusal).told == ["report serverError 4009 of c", "failed c subscriptionRefused 4009"])
    }

    @Test("may be about a message of the application's own")
    func ownMessages() {
        var client = signingIn()
        client.sendMessage(Envelope(event: "custom"))
        #expect(client.received(invalidMessage).told == ["report serverError 4200"])
        #expect(client.machine.signIn.isAwaitingServer)
        client = signingIn()
        client.sendMessage(Envelope(event: "custom"))
        client.advance(by: .seconds(10))
        client.signIn()
        client.authorized(nil)
        // The first sign-in was not answered, so the error may belong to it.
        #expect(client.received(invalidMessage).told == ["report serverError 4200"])
    }
}
