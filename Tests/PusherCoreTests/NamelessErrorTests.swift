import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Reverb refuses requests without naming them (protocol clause 6.2). The client finds the refused request by the
/// answers to the other requests.
@Suite("Errors that name no request", .limited)
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

    @Test("An error that names no request fails the last pending subscription when the others are confirmed")
    func lastLeft() {
        var client = client(pending: "a", "b", "c")
        client.received(.success("b"))
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a", "failed c subscriptionRefused 4009"])
    }

    @Test("An error that names no request does not apply to requests that were sent after the error")
    func sentLater() {
        var client = client(pending: "a", "b")
        client.received(refusal)
        client.subscribe("c")
        #expect(client.received(.success("c")).told == ["subscribed c"])
        #expect(client.received(.success("a")).told == ["subscribed a", "failed b subscriptionRefused 4009"])
        #expect(client.subscribe("d").wire == ["send 1 subscribe d"])
        #expect(client.received(.success("d")).told == ["subscribed d"])
    }

    @Test("Two errors that name no request fail the last two unanswered requests")
    func several() {
        var client = client(pending: "a", "b", "c", "d")
        for _ in 1...2 { #expect(client.received(refusal).told == report) }
        #expect(client.received(.success("c")).told == ["subscribed c"])
        let end: Transcript = [
            "subscribed a", "failed b subscriptionRefused 4009", "failed d subscriptionRefused 4009",
        ]
        #expect(client.received(.success("a")).told == end)
    }

    @Test("An error that names no request fails an earlier request even if later ones are unanswered")
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

    @Test("Two errors that name no request fail the only two pending subscriptions")
    func all() {
        var client = client(pending: "a", "b")
        #expect(client.received(refusal).told == report)
        #expect(
            client.received(refusal).told == report + [
                "failed a subscriptionRefused 4009", "failed b subscriptionRefused 4009",
            ]
        )
    }

    @Test("A refusal that names a channel counts as an answer to its subscription")
    func namedRefusal() {
        for answer in [Envelope.refusal("a"), .error(nil, "Auth info required to subscribe to a")] {
            var client = client(pending: "a", "b")
            client.received(refusal)
            let told = client.received(answer).told
            #expect(told.words.contains("failed b subscriptionRefused 4009"))
            #expect(told.words.contains { $0.hasPrefix("failed a subscriptionRefused") })
        }
    }

    @Test("An error fails no later request if its possible causes have timed out (seed 8486929)")
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

    @Test("An error that names no request may belong to a cancelled subscription until the server has answered")
    func unwanted() {
        var client = client(pending: "a", "b")
        client.unsubscribe("a")
        #expect(client.received(refusal).told == report)
        let transcript = client.received(.success("a"))
        #expect(transcript.wire == ["send 1 unsubscribe a"])
        #expect(transcript.told == ["failed b subscriptionRefused 4009"])
    }

    @Test("A timeout does not count as an answer, and its error repeats the server's words")
    func timeout() throws {
        var client = client(pending: "a", "b")
        client.received(refusal)
        client.advance(by: .seconds(10))
        var transcript = client.decide(nil, last: 2)
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
        client.decide(nil)
        guard case .failed(let error) = client.machine.subscriptions["c"]?.phase else { return }
        // The client sent this subscription after the error, so the failure does not repeat the error's words.
        #expect(!error.message.contains("unauthorized"))
    }

    @Test("Until the server answers a timed-out subscription, an error that names no request may refer to it")
    func overdue() {
        var client = client(pending: "a")
        client.advance(by: .seconds(10))
        client.subscribe("b")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a", "failed b subscriptionRefused 4009"])
    }

    @Test("An error that names no request may belong to a timed-out request for one more timeout")
    func expired() {
        let told: Transcript = ["report serverError 4009 of b", "failed b subscriptionRefused 4009"]
        for var client in [client(pending: "a"), signingIn()] {
            client.advance(by: .seconds(20))
            client.subscribe("b")
            #expect(client.received(refusal).told == told)
            // The late answer to the first subscription has no effect.
            client.received(.success("a"))
            #expect(client.phase(of: "b") == "failed subscriptionRefused")
        }
    }

    @Test("A suspension does not exclude a request as the cause of an error")
    func suspended() {
        for var client in [client(pending: "a"), signingIn()] {
            client.suspend(for: .seconds(30))
            client.subscribe("b")
            #expect(client.received(refusal).told == report)
            #expect(client.phase(of: "b") == "subscribing")
        }
    }

    @Test("The client keeps no unanswered request for longer than two timeouts")
    func bounded() {
        var client = CoreClient.connected()
        for _ in 1...100 {
            client.subscribe("a")
            client.advance(by: .seconds(10))
            client.unsubscribe("a")
            // Without the pong, the client would lose the connection, and the loss would remove the requests.
            client.received(.pong)
        }
        #expect(client.state == .connected)
        #expect(client.machine.session.map { $0.requests.sent.count <= 3 } == true)
    }

    @Test("Two errors with an unknown cause fail only the last pending subscription")
    func uncertain() {
        var client = client(pending: "a", "b")
        for _ in 1...2 { #expect(client.received(.error(nil, "no")).told == ["report serverError"]) }
        #expect(client.phase(of: "a") == "subscribing" && client.phase(of: "b") == "subscribing")
        #expect(client.received(.success("b")).told == ["subscribed b", "failed a subscriptionRefused"])
        client = self.client(pending: "a", "b")
        client.received(.error(nil, "no"))
        #expect(client.received(refusal).told == report)
    }

    @Test("An error that names no request fails no request if the error may answer an earlier try")
    func sentAgain() {
        var client = client(pending: "a", "b")
        client.received(.success("b"))
        client.advance(by: .seconds(10))
        client.decide(.zero)
        client.advance(by: .zero)
        client.subscribe("c")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a"])
        #expect(client.phase(of: "c") == "subscribing")
        // The result is the same if the app has unsubscribed after the first try.
        client = self.client(pending: "a")
        client.advance(by: .seconds(10))
        client.unsubscribe("a")
        client.subscribe("c")
        #expect(client.received(refusal).told == report)
        #expect(client.phase(of: "c") == "subscribing")
    }

    @Test("The client forgets an error that names no request when the connection is lost")
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

    @Test("An error that names a subscribed channel does not belong to a pending channel")
    func namesAnother() {
        var client = client(pending: "chat")
        client.received(.success("chat"))
        client.subscribe("b")
        #expect(client.received(.error(nil, "chat is full")).told == ["report serverError"])
        #expect(client.phase(of: "b") == "subscribing")
    }

    // MARK: The sign-in

    @Test("An error that names no request fails the pending subscription if the sign-in succeeds")
    func signedIn() {
        var client = signingIn(pending: "a")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.signedIn("u")).told == ["signed in u", "failed a subscriptionRefused 4009"])
        #expect(client.machine.signIn.awaitedOwnChannel != nil)
    }

    @Test("An error that names no request fails the pending sign-in if the subscription succeeds")
    func notSignedIn() {
        var client = signingIn(pending: "a")
        #expect(client.received(refusal).told == report)
        #expect(client.received(.success("a")).told == ["subscribed a", "sign-in signInFailed 4009"])
    }

    @Test("Reverb's answer to an unknown sign-in message fails the sign-in with the server's words")
    func unknownSignIn() {
        var client = signingIn()
        #expect(client.received(invalidMessage).told == ["sign-in signInFailed 4200"])
        client = signingIn(pending: "a")
        #expect(client.received(invalidMessage).told == ["report serverError 4200"])
        #expect(client.received(.success("a")).told == ["subscribed a", "sign-in signInFailed 4200"])
    }

    @Test("An error that names no request fails no sign-in that was sent after the error")
    func signInAfterError() {
        // Reverb sends this error for every internal failure, including failures of subscriptions.
        var client = client(pending: "a", "b")
        #expect(client.received(invalidMessage).told == ["report serverError 4200"])
        client.signIn()
        client.authorized(nil)
        #expect(client.received(.success("a")).told == ["subscribed a"])
        #expect(client.machine.signIn.isAwaitingServer)
        #expect(client.received(.signedIn("u")).told == ["signed in u"])
    }

    @Test("Reverb's error for an unknown message fails no subscription")
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
        "The errors of soketi and pylon before a close fail neither sign-in nor subscription",
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

    @Test("The error of a sign-in that times out repeats the server's words")
    func signInTimeout() {
        var client = signingIn(pending: "a")
        client.received(.error(4200, "Generic reconnect immediately"))
        client.advance(by: .seconds(10))
        client.decide(nil, last: 2)
        guard case .failed(let error) = client.machine.signIn.phase else {
            Issue.record("the sign-in has not failed")
            return
        }
        #expect(error.message.contains(#""Generic reconnect immediately" (4200)"#))
    }

    // MARK: Other messages

    @Test("An error that names no request may belong to a recent client event, depending on its words")
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

    @Test("An error that names no request may belong to a message that the app sent")
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
