import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Tests of protocol clause 6.2. Real servers seldom name the channel of an error.
@Suite("Attribution of errors", .limited)
struct ErrorAttributionTests {
    private func client(pending: [String], subscribed: [String] = []) -> CoreClient {
        var client = CoreClient.connected()
        for name in subscribed {
            client.subscribe(name)
            client.received(.success(name))
        }
        for name in pending { client.subscribe(name) }
        return client
    }

    @Test(
        "The client reads code and text of an error in every form",
        arguments: [
            (#""data":{"code":4302,"message":"no"}"#, 4302, "no"),
            (#""data":{"code":"4302","message":"no"}"#, 4302, "no"),
            (#""data":"{\"code\":\"4302\",\"message\":\"no\"}""#, 4302, "no"),
            (#""data":"over quota""#, nil, "over quota"), (#""data":"\"over quota\"""#, nil, "over quota"),
            (#""code":4302,"message":"no""#, 4302, "no"), (#""code":"4302","message":"no","data":null"#, 4302, "no"),
            (#""code":4302,"data":"over quota""#, 4302, "over quota"),
            (#""data":{}"#, nil, "The server reported an error without a message."),
            (#""data":"""#, nil, "The server reported an error without a message."),
        ] as [(String, Int?, String)]
    )
    func forms(members: String, code: Int?, text: String) throws {
        let message = ServerErrorMessage(try Envelope(decoding: #"{"event":"pusher:error",\#(members)}"#))
        #expect(message.code == code)
        #expect(message.message == text)
    }

    @Test("An error belongs to the channel that the envelope names, if the channel is pending")
    func namedInEnvelope() {
        var client = client(pending: ["a", "b"], subscribed: ["c"])
        #expect(
            client.received(.error(nil, "bad", channel: "b")) == [
                "report serverError of b", "failed b subscriptionRefused",
            ]
        )
        #expect(
            client.received(.error(4301, "rate", channel: "c")) == [
                "report clientEventRejected 4301 of c", "deliver c pusher:error",
            ]
        )
        #expect(client.received(.error(nil, "bad", channel: "stranger")) == ["report serverError of stranger"])
    }

    @Test(
        "An error belongs to the channel that its message names",
        arguments: [
            ("Auth info required to subscribe to chat", "chat"),
            ("Auth info required to subscribe to chat-1", "chat-1"),
            ("Auth info required to subscribe to chat-1-x", "chat-1-x"),
            ("Invalid signature: Expected HMAC SHA256 hex digest of 12.34:chat-1, but got abc", "chat-1"),
            ("Invalid signature: Expected HMAC SHA256 hex digest of 12.34:chat:{}, but got abc", "chat"),
            ("no chat.", "chat"), ("chat is full", "chat"), ("\\\"chat-1\\\" is full", "chat-1"), ("(chat)", "chat"),
        ]
    )
    func namedInMessage(message: String, channel: String) {
        var client = client(pending: ["chat", "chat-1", "chat-1-x"])
        #expect(
            client.received(.error(nil, message)).told.last
                == "failed \(channel) subscriptionRefused"
        )
    }

    @Test(
        "An error without a name belongs to no channel if several are pending",
        arguments: [
            "Connection is unauthorized", "chatter is full", "no chat-2", "no my-chat", "",
            "Invalid key in subscription auth data: 'k'",
        ]
    )
    func notNamed(message: String) {
        var client = client(pending: ["chat", "chat-1"])
        #expect(client.received(.error(4009, message)) == ["report serverError 4009"])
        // The subscriptions fail only at their timeout.
        client.advance(by: .seconds(10))
        #expect(
            client.decide(nil, last: 2).told == [
                "failed chat subscriptionTimedOut", "failed chat-1 subscriptionTimedOut",
            ]
        )
    }

    @Test(
        "An error belongs to the only pending channel if the error's code can mean a refusal",
        arguments: [nil, 4009, 4301, 4302, 4200, 4100]
    )
    func onlyPending(code: Int?) {
        var client = client(pending: ["a"], subscribed: ["b", "c"])
        let words = code.map { " \($0)" } ?? ""
        let refused = code == nil || code == 4009
        #expect(
            client.received(.error(code, "no")).told
                == (refused
                    ? ["report serverError\(words) of a", "failed a subscriptionRefused\(words)"]
                    : ["report serverError\(words)"])
        )
    }

    @Test(
        "An error that quotes a sign-in belongs to no channel, even without a sign-in",
        arguments: ["a", "user", "digest"]
    )
    func lateRefusalOfSignIn(name: String) {
        var client = client(pending: [name])
        let message = "Invalid signature: Expected HMAC SHA256 hex digest of 1.1::user::{}, but got x"
        #expect(client.received(.error(nil, message)) == ["report serverError"])
        #expect(client.machine.subscriptions[name]?.isPending == true)
    }

    @Test("If the server confirms a cancelled subscription that seemed to be refused, the client unsubscribes")
    func refusalOfWhatIsGivenUp() {
        for count in 0...2 {
            var client = CoreClient.connected()
            client.subscribe("private-a")
            client.authorized("private-a")
            #expect(client.unsubscribe("private-a").wire == [])
            #expect(client.received(.error(nil, "no")) == ["report serverError of private-a"])
            for round in 0..<count {
                if round > 0 { #expect(client.unsubscribe("private-a").wire == []) }
                client.subscribe("private-a")
                #expect(client.machine.subscriptions["private-a"]?.isAuthorizing == true)
            }
            #expect(client.received(.success("private-a")) == ["send 1 unsubscribe private-a"], "\(count)")
            guard count > 0 else { continue }
            #expect(client.authorized("private-a").wire == ["send 1 subscribe private-a"])
            #expect(client.received(.success("private-a")).told == ["subscribed private-a"])
        }
    }

    @Test("The client reports the refusal of a cancelled subscription once, and sends nothing")
    func trueRefusalOfWhatIsGivenUp() {
        var client = client(pending: ["a"])
        client.unsubscribe("a")
        #expect(client.received(.error(nil, "no")) == ["report serverError of a"])
        #expect(client.advance(by: .seconds(10)).wire == [])
        #expect(client.machine.subscriptions.isEmpty)
    }

    @Test("An error belongs to no channel if none is pending")
    func nothingPending() {
        var client = client(pending: [], subscribed: ["a"])
        #expect(client.received(.error(nil, "Auth info required to subscribe to a")) == ["report serverError"])
        #expect(client.machine.subscriptions["a"]?.isSubscribed == true)
    }

    @Test("The error \"Existing subscription\" means that the channel is subscribed")
    func existingSubscription() {
        var client = client(pending: ["a", "b"])
        #expect(client.received(.error(nil, "Existing subscription to channel b")) == ["subscribed b"])
        #expect(client.received(.error(nil, "Existing subscription to channel x")) == ["report serverError"])
        #expect(client.machine.subscriptions["a"]?.isPending == true)
        // If the app has unsubscribed meanwhile, the error means that the client has to send an unsubscribe.
        client.unsubscribe("a")
        #expect(client.received(.error(nil, "Existing subscription to channel a")) == ["send 1 unsubscribe a"])
    }

    @Test("The error \"No current subscription\" answers an unsubscribe, and fails no subscription")
    func missingSubscription() {
        var client = client(pending: ["a"])
        let message = "No current subscription to channel a, or subscription in progress"
        #expect(client.received(.error(nil, message)) == ["report serverError"])
        #expect(client.machine.subscriptions["a"]?.isPending == true)
    }

    @Test(
        "The server can refuse a subscription with a message that names the channel",
        arguments: [EventName.subscriptionError, EventName.subscriptionErrorInternal]
    )
    func refusal(event: String) {
        var client = client(pending: ["a"], subscribed: ["b"])
        var envelope = Envelope.refusal("a")
        envelope.event = event
        #expect(client.received(envelope) == ["failed a subscriptionRefused 401"])
        envelope.channel = nil
        #expect(client.received(envelope) == ["report subscriptionRefused 401"])
        #expect(client.machine.subscriptions["b"]?.isSubscribed == true)
    }

    @Test(
        "If the server refuses a subscription right after it confirmed the channel, the client subscribes again"
    )
    func refusalOfTheSecond() {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        client.authorized("private-a")
        client.advance(by: .seconds(10))
        #expect(client.unsubscribe("private-a").wire == ["send 1 unsubscribe private-a"])
        client.subscribe("private-a")
        client.authorized("private-a")
        #expect(client.received(.success("private-a")).told == ["subscribed private-a"])
        let doubt = client.received(.refusal("private-a"))
        #expect(doubt.told == ["report subscriptionRefused 401 of private-a"])
        #expect(doubt.wire == ["send 1 unsubscribe private-a"])
        #expect(client.authorized("private-a").wire == ["send 1 subscribe private-a"])
        #expect(client.received(.refusal("private-a")) == ["failed private-a subscriptionRefused 401"])
    }

    @Test("If the server refuses a confirmed channel, the client does not reuse an authorization from the app")
    func refusalWithOwnAuthorization() {
        var client = CoreClient.connected()
        client.subscribe("private-a", auth: Authorization(auth: "key:1.1/private-a"))
        client.received(.success("private-a"))
        #expect(client.received(.refusal("private-a")) == ["report subscriptionRefused 401 of private-a"])
        #expect(client.machine.subscriptions["private-a"]?.isSubscribed == true)
    }

    @Test("If the server refuses a confirmed channel, the client subscribes again, but only once on each connection")
    func refusalOfAll() {
        var client = client(pending: [], subscribed: ["b"])
        let report = "report subscriptionRefused 401 of b"
        for connection in 1...2 {
            let anew: Transcript = [report, "send \(connection) unsubscribe b", "send \(connection) subscribe b"]
            #expect(client.received(.refusal("b")) == anew)
            #expect(client.received(.success("b")) == ["subscribed b away 0s"])
            #expect(client.received(.refusal("b")) == [report])
            #expect(client.machine.subscriptions["b"]?.isSubscribed == true)
            client.closed()
            client.connect()
            client.establish()
            #expect(client.received(.success("b")) == ["subscribed b away 0s"])
        }
    }

    @Test(
        "Errors leave out the signatures and user data in the server's text, in any order",
        arguments: [
            "Expected digest of 1.1:presence-a:{hush}, but got hush", "Expected digest of 1.1:a, but got hush:{}",
            "Expected digest of 1.1:a, but got hush", "digest of 1.1:{hush but got hush", "but got hush digest of {",
        ]
    )
    func repeatedSecrets(message: String) {
        var client = CoreClient.connected()
        let error = client.received(.error(nil, message)).reports.first
        #expect(error?.message.hasSuffix("(hidden)") == true)
        #expect(error?.message.contains("hush") == false)
    }

    @Test("The client subscribes a refused channel again on the next connection, and at the next call")
    func triedAgain() {
        var client = client(pending: ["a"])
        client.received(.refusal("a"))
        #expect(client.subscribe("a").wire == ["send 1 subscribe a"])
        client.received(.refusal("a"))
        client.closed()
        client.connect()
        #expect(client.establish().wire == ["send 2 subscribe a"])
    }

    @Test(
        "An error before the handshake counts as a close with its code",
        arguments: [
            (4001, ["connecting → disconnected", "status refused connectionRefused 4001"]),
            (4300, ["connecting → disconnected", "status refused connectionRefused 4300"]),
            (4100, ["connecting → disconnected", "disconnected → reconnecting", "ask retry 0 at least 1s"]),
            (4200, ["connecting → disconnected", "disconnected → reconnecting", "ask retry 0"]),
            (nil, ["connecting → disconnected", "disconnected → reconnecting", "ask retry 0"]),
            (17, ["connecting → disconnected", "disconnected → reconnecting", "ask retry 0"]),
        ] as [(Int?, [String])]
    )
    func beforeHandshake(code: Int?, changes: [String]) {
        var client = CoreClient()
        client.connect()
        client.opened()
        let transcript = client.received(.error(code))
        #expect(transcript.wire == ["abort 1"])
        #expect(transcript.changes.words == changes)
        #expect(client.closed(1, code: 4001) == [])
    }
}
