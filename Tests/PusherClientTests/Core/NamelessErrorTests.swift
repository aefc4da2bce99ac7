import PusherClient
import PusherProtocol
import Testing

@testable import PusherCore

/// Reverb rejects requests without naming them (protocol clause 6.2). The other answers show which request an error
/// belongs to.
@Suite("Errors that name no request")
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

    @Test("fails the last remaining subscription as soon as the others are confirmed")
    func lastLeft() {
        var client = client(pending: "a", "b", "c")
        client.received(.success("b"))
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a", "failed c subscriptionRefused 4009"])
    }

    @Test("does not apply to requests that were sent after the error")
    func sentLater() {
        var client = client(pending: "a", "b")
        client.received(refusal)
        client.subscribe("c")
        #expect(client.received(.success("c")).told == ["subscribed c"])
        #expect(client.received(.success("a")).told == ["subscribed a", "failed b subscriptionRefused 4009"])
        #expect(client.subscribe("d").wire == ["send 1 subscribe d"])
        #expect(client.received(.success("d")).told == ["subscribed d"])
    }

    @Test("fails as many requests as there were errors, when no more are left")
    func several() {
        var client = client(pending: "a", "b", "c", "d")
        for _ in 1...2 { #expect(client.received(refusal).told == report) }
        #expect(client.received(.success("c")).told == ["subscribed c"])
        let end: Transcript = [
            "subscribed a", "failed b subscriptionRefused 4009", "failed d subscriptionRefused 4009",
        ]
        #expect(client.received(.success("a")).told == end)
    }

    @Test("fails those before the first error, even if later ones are still in doubt")
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

    @Test("fails both of two if both were rejected")
    func all() {
        var client = client(pending: "a", "b")
        #expect(client.received(refusal).told == report)
        #expect(
            client.received(refusal).told == report + [
                "failed a subscriptionRefused 4009", "failed b subscriptionRefused 4009",
            ]
        )
    }

    @Test("counts a rejection that names a channel as an answer too")
    func namedRefusal() {
        for answer in [Envelope.refusal("a"), .error(nil, "Auth info required to subscribe to a")] {
            var client = client(pending: "a", "b")
            client.received(refusal)
            let told = client.received(answer).told
            #expect(told.words.contains("failed b subscriptionRefused 4009"))
            #expect(told.words.contains { $0.hasPrefix("failed a subscriptionRefused") })
        }
    }

    @Test("ignores rejections of requests that are no longer pending (seed 8486929)")
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

    @Test("may belong to a cancelled subscription until the server has answered it")
    func unwanted() {
        var client = client(pending: "a", "b")
        client.unsubscribe("a")
        #expect(client.received(refusal).told == report)
        let transcript = client.received(.success("a"))
        #expect(transcript.wire == ["send 1 unsubscribe a"])
        #expect(transcript.told == ["failed b subscriptionRefused 4009"])
    }

    @Test("A timeout is not an answer, fails no other request, and repeats the server's words")
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

    @Test("may belong to a subscription that has timed out, until its answer arrives")
    func overdue() {
        var client = client(pending: "a")
        client.advance(by: .seconds(10))
        client.subscribe("b")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a", "failed b subscriptionRefused 4009"])
    }

    @Test("may belong to a timed-out subscription or sign-in for one more timeout")
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

    @Test("does not treat a request as overdue because of a suspension")
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

    @Test("Two errors with other possible causes do not fail two subscriptions, but the last one left fails")
    func uncertain() {
        var client = client(pending: "a", "b")
        for _ in 1...2 { #expect(client.received(.error(nil, "no")).told == ["report serverError"]) }
        #expect(client.phase(of: "a") == "subscribing" && client.phase(of: "b") == "subscribing")
        #expect(client.received(.success("b")).told == ["subscribed b", "failed a subscriptionRefused"])
        client = self.client(pending: "a", "b")
        client.received(.error(nil, "no"))
        #expect(client.received(refusal).told == report)
    }

    @Test("fails no request if it may be the answer to an earlier try")
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

    @Test("is forgotten with the connection")
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

    @Test("An error that names a subscribed channel does not belong to the pending one")
    func namesAnother() {
        var client = client(pending: "chat")
        client.received(.success("chat"))
        client.subscribe("b")
        #expect(client.received(.error(nil, "chat is full")).told == ["report serverError"])
        #expect(client.phase(of: "b") == "subscribing")
    }

    // MARK: The sign-in

    @Test("fails the subscription if the sign-in succeeds, and never the user's own channel")
    func signedIn() {
        var client = signingIn(pending: "a")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.signedIn("u")).told == ["signed in u", "failed a subscriptionRefused 4009"])
        #expect(client.machine.signIn.awaitedOwnChannel != nil)
    }

    @Test("fails the sign-in if the subscription succeeds")
    func notSignedIn() {
        var client = signingIn(pending: "a")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a", "sign-in signInFailed 4009"])
    }

    @Test("Reverb's answer to an unknown sign-in fails it with the server's words")
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
        "The errors of soketi and pylon before a close fail neither",
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

    @Test("A sign-in that times out repeats the server's words")
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

    @Test("may belong to a recent client event, unless it has Reverb's words for subscriptions")
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

    @Test("may belong to a message that the app sent")
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
