import SignalRCore
import TestTraits
import Testing

@Suite(.limited) struct NegotiationTests {
    @Test(arguments: [
        ("https://h/chat", "https://h/chat/negotiate?negotiateVersion=1"),
        ("https://h/chat/", "https://h/chat/negotiate?negotiateVersion=1"),
        ("https://h/chat?x=1", "https://h/chat/negotiate?x=1&negotiateVersion=1"),
        ("https://h/chat/?x=1", "https://h/chat/negotiate?x=1&negotiateVersion=1"),
        ("https://h/chat?negotiateVersion=0", "https://h/chat/negotiate?negotiateVersion=0"),
        ("https://h/chat?a=/b?c#d", "https://h/chat/negotiate?a=/b?c&negotiateVersion=1"),
        ("https://h", "https://h/negotiate?negotiateVersion=1"),
        (
            "https://NAME.service.signalr.net/client/?hub=chat&x=%20",
            "https://NAME.service.signalr.net/client/negotiate?hub=chat&x=%20&negotiateVersion=1"
        ),
    ]) func negotiatesBelowTheHub(base: String, url: String) {
        #expect(ConnectionURL.negotiation(base, resumable: false) == url)
        #expect(ConnectionURL.negotiation(base, resumable: true) == url + "&useStatefulReconnect=true")
    }

    @Test func connectsWithTheToken() {
        #expect(ConnectionURL.transport("https://h/chat", token: "a b/+=é") == "https://h/chat?id=a%20b%2F%2B%3D%C3%A9")
        #expect(ConnectionURL.transport("https://h/chat?x=1#y", token: "t") == "https://h/chat?x=1&id=t")
        #expect(ConnectionURL.transport("https://h/chat?x=1", token: nil) == "https://h/chat?x=1")
    }

    @Test func pollsKeepTheQueryOfTheHub() {
        let url = ConnectionURL.transport("https://h/chat?my_=1", token: "t")
        #expect(ConnectionURL.poll(url, number: 7) == "https://h/chat?my_=1&id=t&_=7")
    }

    func answer(_ text: String) throws -> NegotiationAnswer { try NegotiationAnswer(Array(text.utf8)) }

    @Test func readsTheAnswerOfVersionOne() throws {
        let text = #"""
            {"future":{"x":[1]},"connectionToken":"secret","connectionId":"public","negotiateVersion":1,
            "availableTransports":[{"transport":"WebSockets","transferFormats":["Text","Binary"]},
            {"transferFormats":["TEXT"],"transport":"serversentevents"},{"transport":"QUIC","transferFormats":["Text"]},
            {"transport":"LongPolling","transferFormats":["Text","Binary","Other"]}],"useStatefulReconnect":true}
            """#
        guard case .accepted(let negotiation) = try answer(text) else { throw HubFailure.test }
        #expect(negotiation.connectionID == "public")
        #expect(negotiation.connectionToken == "secret")
        #expect(negotiation.canBeResumed)
        let all: HttpTransportType = [.webSockets, .serverSentEvents, .longPolling]
        let obstacles = negotiation.transports.map { $0.obstacle(for: .messagePack, permitted: all) }
        #expect(obstacles == [nil, "it does not carry binary messages", "this client does not know it", nil])
        #expect(
            negotiation.transports.map { $0.obstacle(for: .json, permitted: all) == nil } == [true, true, false, true]
        )
        #expect(
            negotiation.transports[0].obstacle(for: .json, permitted: .longPolling) == "the options do not permit it"
        )
    }

    @Test func anAnswerOfVersionZeroHasOneIDForBoth() throws {
        let text = #"{"connectionId":"c","connectionToken":"ignored","availableTransports":[]}"#
        guard case .accepted(let negotiation) = try answer(text) else { throw HubFailure.test }
        #expect(negotiation.connectionToken == "c" && negotiation.connectionID == "c")
    }

    @Test func readsRedirectsAndErrors() throws {
        #expect(
            try answer(#"{"url":"https://x/?hub=chat","accessToken":"t"}"#)
                == .redirect(url: "https://x/?hub=chat", accessToken: "t")
        )
        #expect(try answer(#"{"url":"https://x"}"#) == .redirect(url: "https://x", accessToken: nil))
        #expect(try answer(#"{"error":"no","url":"https://x"}"#) == .refused("no"))
    }

    @Test(arguments: [
        "", "[]", "{}", "null", #"{"connectionId":7}"#, #"{"connectionId":"c","availableTransports":{}}"#,
        #"{"ProtocolVersion":"1.5","Url":"/signalr"}"#, #"{"connectionId":"c","availableTransports":[7]}"#, "{",
    ]) func otherAnswersAreErrors(_ text: String) {
        #expect(throws: HubProtocolViolation.self) { try answer(text) }
    }
}
