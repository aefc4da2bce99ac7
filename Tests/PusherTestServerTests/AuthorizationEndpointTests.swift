import NIOCore
import NIOEmbedded
import PusherEncryption
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("The authorization endpoints", .limited)
struct AuthorizationEndpointTests {
    private func server(_ change: (inout Options) -> Void = { _ in }) -> BrainTranscript {
        BrainTranscript { options in
            options.application = AuthorizationTests.application
            change(&options)
        }
    }

    private func answer(_ path: String, _ form: String, _ change: (inout Options) -> Void = { _ in }) -> RESTResponse? {
        var server = server(change)
        return server.post(path, form).response
    }

    private let key = AuthorizationTests.application.key

    @Test("the endpoint authorizes a private channel")
    func privateChannel() {
        let signature = "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
        #expect(
            answer("/pusher/auth", "socket_id=1234.1234&channel_name=private-foobar")
                == RESTResponse(status: 200, body: #"{"auth":"\#(key):\#(signature)"}"#)
        )
    }

    @Test("the endpoint authorizes an encrypted channel")
    func encryptedChannel() {
        let signature = "e6a18892d037c5d5e76a2265df4f086ffc38631605530dfd214aa5bff495f533"
        let secret = "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY="
        #expect(
            answer("/pusher/auth", "socket_id=1234.1234&channel_name=private-encrypted-foobar")?.body
                == #"{"auth":"\#(key):\#(signature)","shared_secret":"\#(secret)"}"#
        )
        #expect(
            answer("/pusher/auth", "socket_id=1.1&channel_name=private-encrypted-cache-foobar")?.body
                .contains(#""shared_secret":"ZIyrVD+0Bk6W0N6MalhVZjcRCf/fF2zNDPkN9Kb3hoA=""#) == true
        )
        let form = "socket_id=1.1&channel_name=private-encrypted-x"
        #expect(answer("/pusher/auth", form) { $0.encryptionMasterKey = "x" }?.status == 500)
    }

    private func jsonAnswer(_ path: String, _ body: String, type: String = "application/json") -> RESTResponse? {
        var server = server()
        return server.post(path, body, headers: ["Content-Type": type]).response
    }

    @Test("the endpoints read JSON bodies as they read forms")
    func jsonBodies() {
        let type = "Application/JSON; charset=utf-8"
        for (json, form) in [
            (#"{"socket_id":"1234.1234","channel_name":"private-foobar"}"#, "channel_name=private-foobar"),
            (
                #"{"channel_name":"presence-a","socket_id":"1234.1234","user_id":11,"user_info":{"a": "b"},"x":null}"#,
                "channel_name=presence-a&user_id=11&user_info=%7B%22a%22%3A%20%22b%22%7D"
            ),
            (
                #"{"socket_id":"1234.1234","channel_name":["private-a","private-b"]}"#,
                "channel_name[]=private-a&channel_name[]=private-b"
            ),
        ] {
            let expected = answer("/pusher/auth", "socket_id=1234.1234&\(form)")
            #expect(expected?.status == 200)
            #expect(jsonAnswer("/pusher/auth", json, type: type) == expected)
        }
        #expect(
            jsonAnswer("/pusher/user-auth", #"{"socket_id":"1234.1234","user_id":"ada"}"#)
                == answer("/pusher/user-auth", "socket_id=1234.1234&user_id=ada")
        )
        let refusal = jsonAnswer("/pusher/auth", "socket_id=1234.1234&channel_name=private-foobar")
        #expect(refusal?.status == 400)
        #expect(refusal?.body.contains("the body is not a JSON object") == true)
    }

    @Test("the form names the user of a presence channel")
    func presenceChannel() {
        let form = "socket_id=1234.1234&channel_name=presence-foobar&user_id=11"
        let info = "&user_info=%7B%22name%22%3A%22Zo%C3%AB%20%F0%9F%9A%80%22%7D"
        let signature = "973b1c866295670a657c2c09aef1c6d2a1830b19fd8f2c833fa195dbf028b3c0"
        let data = #"{\"user_id\":\"11\",\"user_info\":{\"name\":\"Zoë 🚀\"}}"#
        #expect(
            answer("/pusher/auth", form + info)?.body
                == #"{"auth":"\#(key):\#(signature)","channel_data":"\#(data)"}"#
        )
        #expect(answer("/pusher/auth", form + "&user_info=x")?.status == 400)
        let nobody = answer("/pusher/auth", "socket_id=1.2&channel_name=presence-x")?.body
        #expect(nobody?.contains(#""channel_data":"{\"user_id\":\"1.2\"}""#) == true)
    }

    @Test("the form names the user of a sign-in")
    func user() {
        let signature = "31a12919d25cfe278f8689d93abbcf79a1f40fe4996b9789a1f1a4d3529637e3"
        let form = "socket_id=1234.1234&user_id=1&user_info={%22name%22:%22Zo%C3%AB%22}&watchlist=[%222%22,%223%22]"
        let data = #"{\"id\":\"1\",\"user_info\":{\"name\":\"Zoë\"},\"watchlist\":[\"2\",\"3\"]}"#
        #expect(
            answer("/pusher/user-auth", form)?.body == #"{"auth":"\#(key):\#(signature)","user_data":"\#(data)"}"#
        )
        #expect(answer("/pusher/user-auth", "socket_id=1.1&watchlist=[")?.status == 400)
        #expect(answer("/pusher/user-auth", "socket_id=1.1&user_info=[")?.status == 400)
    }

    @Test("one request authorizes several channels")
    func batch() {
        let body = answer(
            "/pusher/auth",
            "socket_id=1234.1234&channel_name%5B%5D=private-foobar&channel_name[]=private-no"
        ) { options in
            options.authorizeChannel = { $0.channel == "private-no" ? .refuse() : .allow() }
        }?.body
        let signature = "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
        #expect(
            body == #"{"private-foobar":{"status":200,"data":{"auth":"\#(key):\#(signature)"}},"#
                + #""private-no":{"status":403,"data":"Forbidden"}}"#
        )
    }

    @Test("the closures in the options decide the answers of the endpoints")
    func closures() {
        let form = "socket_id=1.1&channel_name=presence-x&token=a%26b"
        let refused = answer("/pusher/auth", form) { options in
            options.authorizeChannel = { request in
                #expect(request.socketID == "1.1" && request.channel == "presence-x")
                #expect(request.parameters["token"] == "a&b" && request.request.bodyText == form)
                return .refuse(status: 401, body: "log in first")
            }
        }
        #expect(refused == RESTResponse(status: 401, body: "log in first"))
        #expect(
            answer("/pusher/auth", form) { $0.authorizeChannel = { _ in .allow(userID: "u", userInfo: "[1]") } }?.body
                .contains(#"{\"user_id\":\"u\",\"user_info\":[1]}"#) == true
        )
        #expect(
            answer("/pusher/auth", form) { $0.authorizeChannel = { _ in .allowWithData("any text") } }?.body
                .contains(#""channel_data":"any text""#) == true
        )
        #expect(
            answer("/pusher/user-auth", "socket_id=1.1") { options in
                options.authenticateUser = { _ in .allow(userID: "u", userInfo: "{}", watchlist: ["v"]) }
            }?.body.contains(#"{\"id\":\"u\",\"user_info\":{},\"watchlist\":[\"v\"]}"#) == true
        )
        #expect(
            answer("/pusher/user-auth", "socket_id=1.1") { $0.authenticateUser = { _ in .refuse() } }?.status == 403
        )
        #expect(
            answer("/pusher/user-auth", "socket_id=1.1") { $0.authenticateUser = { _ in .allowWithData("x") } }?.body
                .contains(#""user_data":"x""#) == true
        )
    }

    @Test(
        "the endpoint rejects incomplete and invalid forms",
        arguments: [
            "", "&", "=", "&&==&", "socket_id=1.1", "channel_name=private-x", "socket_id=x&channel_name=private-x",
            "socket_id=1.1&channel_name=", "socket_id=1.1&channel_name=a%20b", "socket_id=1.1&channel_name=%23x",
            "socket_id=1.1&channel_name=%", "socket_id=1.1&channel_name=%zz%4",
            "socket_id=1.%31%&channel_name=private-x",
            "socket_id=1.1&channel_name=%ff%fe", #"{"socket_id":"1.1","channel_name":"private-x"}"#,
            "socket_id=1.1&channel_name[]=private-x&channel_name[]=a b",
            "socket_id=1.1\(String(repeating: "&channel_name[]=private-x", count: 1_001))",
            "socket_id=1.1&channel_name=\(String(repeating: "x", count: 201))",
            LongText(repeating: "%", count: 1_000_000),
        ] as [LongText]
    )
    func invalidForms(form: LongText) {
        #expect(answer("/pusher/auth", form.text)?.status == 400)
    }

    @Test("the endpoint rejects long bodies and other methods")
    func refusedRequests() {
        #expect(answer("/pusher/auth", String(repeating: "x", count: 1 << 20 + 1))?.status == 413)
        var server = server()
        let form = "socket_id=1.1&channel_name=private-x"
        for method in ["PUT", "HEAD"] {
            #expect(server.post("/pusher/auth", form, method: method).response?.status == 405)
        }
        #expect(server.post("/pusher/auth?once=1", form).response?.status == 200)
        #expect(server.post("/pusher/other", form).isEmpty)
    }

    @Test("the endpoint reads the form of a GET from the query and ignores its body")
    func get() {
        var server = server()
        let form = "socket_id=1.1&channel_name=private-%40x"
        let posted = server.post("/pusher/auth", form).response
        #expect(server.post("/pusher/auth?\(form)", "", method: "GET").response == posted)
        #expect(server.post("/pusher/auth", form, method: "GET").response?.status == 400)
        #expect(server.post("/pusher/auth?\(form)", "channel_name=a b", method: "GET").response == posted)
        let batch = "socket_id=1.1&channel_name%5B%5D=private-x&channel_name[]=private-y"
        #expect(
            server.post("/pusher/auth?\(batch)", "", method: "GET").response
                == server.post("/pusher/auth", batch).response
        )
        let user = "socket_id=1.1&user_id=a%20b"
        #expect(
            server.post("/pusher/user-auth?\(user)", "", method: "GET").response
                == server.post("/pusher/user-auth", user).response
        )
    }

    @Test("the endpoint accepts bytes that are not UTF-8 in a field that it does not use")
    func notUTF8() {
        var server = server()
        let body = Array("socket_id=1.1&channel_name=private-x&user_info=".utf8) + [0xFF, 0xC0, 0x00]
        let request = Request(method: "POST", target: "/pusher/auth", body: body)
        let call = AuthorizationCall(request, options: server.brain.options)
        #expect(call.map { server.brain.authorizationRequest(RequestID(rawValue: 1), $0).response?.status } == 200)
    }

    // MARK: Faults

    @Test("a fault applies to the given number of requests, in order")
    func faults() throws {
        var server = server()
        let form = "socket_id=1.1&channel_name=private-encrypted-x"
        let usual = try #require(server.post("/pusher/auth", form).response)
        let retry = HTTPHeader(name: "Retry-After", value: "7")
        let faults: [(PusherTestServer.AuthorizationFault, [ServerAction])] = [
            (
                .status(503, headers: [retry], body: "later"),
                [.respond(RequestID(rawValue: 1), RESTResponse(status: 503, headers: [retry], body: "later"))]
            ),
            (.body("{"), [.respond(RequestID(rawValue: 1), RESTResponse(status: 200, body: "{"))]),
            (.unanswered, [.ignore(RequestID(rawValue: 1))]),
            (.dropped, [.drop(RequestID(rawValue: 1))]),
            (.delayed(.seconds(3)), [.schedule(timer(1), after: .seconds(3))]),
            (
                .redirected(to: "/pusher/auth?once"),
                [
                    .respond(
                        RequestID(rawValue: 1),
                        RESTResponse(
                            status: 307,
                            headers: ["Location": "/pusher/auth?once"],
                            body: ""
                        )
                    )
                ]
            ),
        ]
        for (fault, _) in faults { _ = server.brain.failAuthorizations(count: 1, of: .all, with: fault) }
        for (_, actions) in faults { #expect(server.post("/pusher/auth", form) == actions) }
        #expect(server.fire(1) == [.respond(RequestID(rawValue: 1), usual)])
        #expect(server.post("/pusher/auth", form).response == usual)
    }

    @Test("wrongSignature and wrongSharedSecret keep the form of valid authorizations")
    func wrongAnswers() throws {
        var server = BrainTranscript.connected()
        let form = "socket_id=7.1&channel_name=private-encrypted-x"
        func answer() throws -> JSONMembers {
            try #require(server.post("/pusher/auth", form).response.flatMap { JSONMembers(parsing: $0.body) })
        }
        let usual = try answer()
        _ = server.brain.failAuthorizations(count: 1, of: .all, with: .wrongSignature)
        _ = server.brain.failAuthorizations(count: 1, of: .all, with: .wrongSharedSecret)
        let wrongSignature = try answer()
        #expect(wrongSignature["auth"]?.count == usual["auth"]?.count && wrongSignature["auth"] != usual["auth"])
        #expect(wrongSignature["shared_secret"] == usual["shared_secret"])
        let auth = wrongSignature.value("auth")?.string
        let subscribe = Envelope.subscribe(channel: "private-encrypted-x", auth: auth)
        #expect(server.text(1, subscribe.jsonText).events == [EventName.error])
        let wrongSecret = try answer()
        #expect(wrongSecret["auth"] == usual["auth"] && wrongSecret["shared_secret"] != usual["shared_secret"])
        #expect(wrongSecret.value("shared_secret")?.string.flatMap { SecretKey(base64: $0) } != nil)
    }

    @Test("faults can apply to one channel, and to users")
    func faultTargets() {
        var server = server()
        _ = server.brain.failAuthorizations(count: nil, of: .channel("private-x"), with: .status(503))
        _ = server.brain.failAuthorizations(count: 1, of: .users, with: .status(500))
        func status(_ path: String, _ form: String) -> Int? {
            server.post(path, "socket_id=1.1" + form).response?.status
        }
        #expect(status("/pusher/auth", "&channel_name=private-y") == 200)
        for _ in 1...3 { #expect(status("/pusher/auth", "&channel_name=private-x") == 503) }
        #expect(status("/pusher/auth", "&channel_name[]=private-y&channel_name[]=private-x") == 503)
        #expect(status("/pusher/user-auth", "") == 500)
        #expect(status("/pusher/user-auth", "") == 200)
        _ = server.brain.failAuthorizations(count: 0, of: .all, with: .status(500))
        _ = server.brain.acceptAuthorizations()
        #expect(status("/pusher/auth", "&channel_name=private-x") == 200)
    }

    @Test("faults with a count apply first, and a new fault without a count replaces the old one")
    func faultsTogether() {
        var server = server()
        func status(_ name: String) -> Int? {
            server.post("/pusher/auth", "socket_id=1.1&channel_name=\(name)").response?.status
        }
        _ = server.brain.failAuthorizations(count: nil, of: .all, with: .status(500))
        _ = server.brain.failAuthorizations(count: 1, of: .channel("private-x"), with: .status(503))
        #expect(status("private-y") == 500)
        #expect(status("private-x") == 503)
        #expect(status("private-x") == 500)
        _ = server.brain.failAuthorizations(count: nil, of: .channel("private-x"), with: .status(504))
        #expect(status("private-x") == 504)
        _ = server.brain.failAuthorizations(count: nil, of: .all, with: .status(505))
        #expect(status("private-x") == 505)
    }

    // MARK: In memory

    @Test("in memory, the endpoint answers at once or late, drops the connection, or does not answer")
    func inMemory() throws {
        let loop = EmbeddedEventLoop()
        let server = InMemoryServer(eventLoop: loop)
        let answers = NIOLoopBoundBox<[RESTResponse?]>([], eventLoop: loop)
        let request = Request(
            method: "POST",
            target: "/pusher/auth",
            headers: ["X-Token": "t"],
            body: Array("socket_id=1.1&channel_name=private-x".utf8)
        )
        func ask(after time: TimeAmount = .zero) -> [RESTResponse?] {
            server.request(request) { answers.value.append($0) }
            loop.advanceTime(by: time)
            defer { answers.value = [] }
            return answers.value
        }
        #expect(ask().map { $0?.status } == [200])
        server.server.failAuthorizations(1, with: .delayed(.seconds(2)))
        #expect(ask(after: .seconds(1)).isEmpty)
        loop.advanceTime(by: .seconds(1))
        #expect(answers.value.map { $0?.status } == [200])
        answers.value = []
        server.server.failAuthorizations(1, with: .dropped)
        #expect(ask() == [nil])
        server.server.failAuthorizations(1, with: .unanswered)
        #expect(ask(after: .hours(1)).isEmpty)
        server.server.failAuthorizations(
            for: "private-x",
            with: .status(429, headers: ["Retry-After": "1"])
        )
        #expect(ask().map { $0?.header("retry-after") } == ["1"])
        server.server.acceptAuthorizations()
        #expect(server.server.authorizationRequests == Array(repeating: request, count: 5))
        #expect(server.server.records.contains { $0.event == .authorizationFailed(.dropped) })
    }

    @Test("descriptions contain no secret")
    func descriptions() {
        var options = Options()
        options.application.secret = "hidden"
        options.encryptionMasterKey = "hidden"
        let server = PusherTestServer(options: options)
        let signed = server.authorization(forSocket: "1.1", channel: "private-x")
        var dumped = ""
        dump(options, to: &dumped)
        dump(server.options.application, to: &dumped)
        dump(signed, to: &dumped)
        for text in ["\(options)", "\(options.application)", "\(signed)", "\(server)", dumped] {
            #expect(!text.contains("hidden") && !text.contains(signed.auth))
        }
    }
}
