import PusherEncryption
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("The REST API", .limited)
struct RESTTests {
    static let application = PusherTestServer.Application(
        id: "3",
        key: "278d425bdf160c739803",
        secret: "7ad3773142a6692b25b8"
    )
    static let now = 1_353_088_179

    private func server() -> BrainTranscript {
        var server = BrainTranscript { $0.application = Self.application }
        for number in 1...2 {
            _ = server.connect(number, "/app/\(Self.application.key)")
            _ = server.subscribe(number, "a")
        }
        return server
    }

    private func request(_ signed: SignedRESTRequest) -> Request {
        Request(method: signed.method, target: signed.pathAndQuery, body: Array(signed.body.utf8))
    }

    private func signed(_ method: String, _ path: String, _ parameters: [String: String] = [:], _ body: String = "")
        -> Request
    {
        request(
            SignedRESTRequest(
                method: method,
                path: path,
                parameters: parameters,
                body: body,
                application: Self.application,
                timestamp: Self.now
            )
        )
    }

    private func response(_ actions: [ServerAction]) -> RESTResponse? {
        for case .respond(_, let response) in actions { return response }
        return nil
    }

    private func answer(_ request: Request, now: Int = Self.now) -> RESTResponse? {
        var server = server()
        return response(server.brain.restRequest(RequestID(rawValue: 1), request, now: now))
    }

    @Test(
        "signatures match the examples in Pusher's documentation",
        arguments: [
            (
                "POST", "/apps/3/events", [:],
                #"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#,
                "da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c"
            ),
            (
                "GET", "/apps/3/channels", ["filter_by_prefix": "presence-", "info": "user_count"], "",
                "16819168891cb5dfd72b5c7a5d3d602605b26c6ba1930033b5e2eeeb65010291"
            ),
            (
                "POST", "/apps/3/batch_events", [:],
                #"{"batch":[{"channel":"a","name":"n","data":"{}"}]}"#,
                "a81cd18dc56b7b9b8f547953b0820cf231b3d795f41cbac8805e4106b9e959cc"
            ),
            (
                "POST", "/apps/3/users/u1/terminate_connections", [:], "{}",
                "61efad5e9fe693a686a71ff197d9770bd2c257d87ce961f4efda2dae952c4345"
            ),
        ] as [(String, String, [String: String], String, String)]
    )
    func vectors(method: String, path: String, parameters: [String: String], body: String, signature: String) {
        #expect(signed(method, path, parameters, body).parameters["auth_signature"] == signature)
    }

    @Test("an event reaches all subscribers except the excluded connection")
    func publish() throws {
        var server = server()
        let body = #"{"name":"e","channels":["a"],"data":"{\"some\":\"d\\u00e4ta\"}","socket_id":"7.1"}"#
        let actions = server.brain.restRequest(
            RequestID(rawValue: 1),
            signed("POST", "/apps/3/events", [:], body),
            now: Self.now
        ).withoutRecords
        let text = #"{"event":"e","data":"{\"some\":\"d\\u00e4ta\"}","channel":"a"}"#
        #expect(
            actions == [
                .send(2, text), .respond(RequestID(rawValue: 1), RESTResponse(status: 200, body: "{}")),
            ]
        )
    }

    @Test("the record of a request precedes the records of the events that it publishes")
    func order() throws {
        var server = server()
        let body = #"{"name":"e","channels":["a"],"data":"1"}"#
        let request = signed("POST", "/apps/3/events", [:], body)
        let actions = server.brain.restRequest(RequestID(rawValue: 1), request, now: Self.now)
        let events = actions.compactMap { action in
            if case .record(_, let event) = action { event } else { nil }
        }
        #expect(events.first == .requestAnswered(request, status: 200))
        #expect(events.contains(.eventPublished(name: "e", channel: "a", connectionCount: 2)), "\(events)")
    }

    /// Makes a signed request, whose query may contain a parameter twice.
    private func request(query: [(name: String, value: String)], body: String = "") -> Request {
        var parameters = query
        parameters += [
            ("auth_key", Self.application.key), ("auth_timestamp", String(Self.now)), ("auth_version", "1.0"),
        ]
        if !body.isEmpty { parameters.append(("body_md5", ApplicationSigner.digest(ofBody: Array(body.utf8)))) }
        let text = StringToSign.restRequest(method: "POST", path: "/apps/3/events", parameters: parameters)
        parameters.append(("auth_signature", HMACSHA256.hexadecimal(text, secret: Self.application.secret)))
        let pairs = parameters.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        return Request(
            method: "POST",
            target: "/apps/3/events?" + pairs.joined(separator: "&"),
            body: Array(body.utf8)
        )
    }

    @Test(
        "the signed query may contain the parameters of an event",
        arguments: [
            [("channel", "a")], [("channels[]", "a"), ("channels[]", "b")], [("channels[]", "a")], [("channels", "a")],
        ] as [[(name: String, value: String)]]
    )
    func eventInQuery(channels: [(name: String, value: String)]) throws {
        var server = server()
        let event = request(query: [("name", "é e"), ("data", #"{"x":"&=+"}"#), ("socket_id", "7.1")] + channels)
        let actions = server.brain.restRequest(RequestID(rawValue: 1), event, now: Self.now).withoutRecords
        let text = #"{"event":"é e","data":"{\"x\":\"&=+\"}","channel":"a"}"#
        #expect(
            actions == [.send(2, text), .respond(RequestID(rawValue: 1), RESTResponse(status: 200, body: "{}"))]
        )
        var changed = event
        changed.query = changed.query.replacing("name=", with: "name=x")
        #expect(answer(changed)?.status == 401)
    }

    @Test("the server checks parameters in the query, and prefers parameters in the body")
    func eventInQueryAndBody() {
        #expect(answer(request(query: [("name", "e"), ("channel", "a")]))?.status == 400)
        #expect(answer(request(query: [("data", "{}"), ("channel", "a")]))?.status == 400)
        #expect(answer(request(query: [("name", "e"), ("data", "{}")]))?.status == 400)
        #expect(answer(request(query: [("name", "e"), ("data", "{}"), ("channels[]", "a b")]))?.status == 400)
        let long = String(repeating: "d", count: 10_241)
        #expect(answer(request(query: [("name", "e"), ("data", long), ("channel", "a")]))?.status == 413)
        let info = [("name", "e"), ("data", ""), ("channel", "a"), ("info", "subscription_count")]
        #expect(answer(request(query: info))?.body == #"{"channels":{"a":{"subscription_count":2}}}"#)
        let mixed = request(
            query: [("name", "other"), ("data", "{}"), ("channels[]", "b")],
            body: #"{"name":"e","channel":"a"}"#
        )
        var server = server()
        let actions = server.brain.restRequest(RequestID(rawValue: 1), mixed, now: Self.now)
        #expect(actions.texts(to: 1) == [#"{"event":"e","data":"{}","channel":"a"}"#])
        #expect(answer(request(query: [("name", "e"), ("data", "{}"), ("channel", "a")], body: "x"))?.status == 400)
    }

    @Test("the server returns numbers of subscribers on request")
    func info() {
        let body = #"{"name":"e","channel":"a","data":"","info":"subscription_count"}"#
        #expect(
            answer(signed("POST", "/apps/3/events", [:], body))?.body == #"{"channels":{"a":{"subscription_count":2}}}"#
        )
        #expect(answer(signed("GET", "/apps/3/channels"))?.body == #"{"channels":{"a":{}}}"#)
        #expect(answer(signed("GET", "/apps/3/channels", ["filter_by_prefix": "b"]))?.body == #"{"channels":{}}"#)
        #expect(
            answer(signed("GET", "/apps/3/channels/a", ["info": "subscription_count"]))?.body
                == #"{"occupied":true,"subscription_count":2}"#
        )
        #expect(answer(signed("GET", "/apps/3/channels/b"))?.body == #"{"occupied":false}"#)
        #expect(answer(signed("GET", "/apps/3/channels", ["info": "user_count"]))?.status == 400)
        #expect(answer(signed("GET", "/apps/3/channels/a", ["info": "user_count"]))?.status == 400)
    }

    @Test(
        "the server checks each part of the signature",
        arguments: [
            ("auth_key", nil), ("auth_key", "other"), ("auth_version", nil), ("auth_version", "2.0"),
            ("auth_timestamp", nil), ("auth_timestamp", "x"), ("auth_timestamp", "-9223372036854775808"),
            ("auth_timestamp", "1353087578"), ("auth_timestamp", "1353088780"), ("body_md5", nil),
            ("body_md5", "ec365a775a4cd0599faeb73354201b6f"), ("auth_signature", nil), ("auth_signature", "x"),
            ("auth_signature", ""), ("auth_signature", String(repeating: "0", count: 64)), ("extra", "1"),
        ] as [(String, String?)]
    )
    func refusedSignatures(name: String, value: String?) {
        var request = signed("POST", "/apps/3/events", [:], #"{"name":"e","channel":"a","data":"{}"}"#)
        #expect(answer(request)?.status == 200)
        var parameters = request.parameters
        parameters[name] = value
        request.query = parameters.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        #expect(answer(request)?.status == 401)
        #expect(answer(request)?.body.isEmpty == false)
    }

    @Test("a request is valid for 600 seconds", arguments: [(600, 200), (601, 401), (-600, 200), (-601, 401)])
    func time(difference: Int, status: Int) {
        #expect(answer(signed("GET", "/apps/3/channels"), now: Self.now + difference)?.status == status)
    }

    @Test("the server rejects a changed body, path, method or secret")
    func changed() {
        let original = signed("POST", "/apps/3/events", [:], #"{"name":"e","channel":"a","data":"{}"}"#)
        var body = original
        body.body += [0x20]
        var method = original
        method.method = "PUT"
        var path = original
        path.path = "/apps/3/channels"
        for request in [body, method, path] { #expect(answer(request)?.status == 401) }
        let other = PusherTestServer.Application(id: "3", key: Self.application.key, secret: "other")
        let foreign = SignedRESTRequest(
            method: "GET",
            path: "/apps/3/channels",
            application: other,
            timestamp: Self.now
        )
        #expect(answer(request(foreign))?.status == 401)
    }

    @Test(
        "the server checks each part of the body",
        arguments: [
            ("", 400), ("x", 400), ("[]", 400), ("{}", 400), (#"{"name":1,"channel":"a","data":"{}"}"#, 400),
            (#"{"name":"","channel":"a","data":"{}"}"#, 400), (#"{"name":"e","channel":"a"}"#, 400),
            (#"{"name":"e","channel":"a","data":{}}"#, 400), (#"{"name":"e","data":"{}"}"#, 400),
            (#"{"name":"e","channel":1,"data":"{}"}"#, 400), (#"{"name":"e","channels":[],"data":"{}"}"#, 400),
            (#"{"name":"e","channels":["a",1],"data":"{}"}"#, 400), (#"{"name":"e","channels":"a","data":"{}"}"#, 400),
            (#"{"name":"e","channels":["a b"],"data":"{}"}"#, 400),
            (#"{"name":"e","channel":"a","data":"{}","socket_id":"x"}"#, 400),
            (#"{"name":"e","channel":"a","data":"{}","socket_id":1}"#, 400),
            (#"{"name":"e","channel":"a","data":"{}","info":[]}"#, 400),
            (#"{"name":"e","channels":["private-encrypted-a","a"],"data":"{}"}"#, 400),
            (#"{"name":"\#(String(repeating: "n", count: 201))","channel":"a","data":"{}"}"#, 400),
            (#"{"name":"e","channel":"a","data":"\#(String(repeating: "d", count: 10_240))"}"#, 200),
            (#"{"name":"e","channel":"a","data":"\#(String(repeating: "d", count: 10_241))"}"#, 413),
            (LongText(repeating: " ", count: 1 << 20 + 1), 413), (LongText(repeating: "[", count: 100_000), 400),
            (#"{"name":"e","channel":"a","data":"{}","x":\#(String(repeating: "[", count: 400))"#, 400),
            (
                #"{"name":"e","channels":[\#(Array(repeating: "\"a\"", count: 101).joined(separator: ","))],"data":""}"#,
                400
            ),
        ] as [(LongText, Int)]
    )
    func bodies(body: LongText, status: Int) {
        #expect(answer(signed("POST", "/apps/3/events", [:], body.text))?.status == status)
    }

    @Test(
        "the server rejects unknown paths",
        arguments: [
            ("GET", "/"), ("GET", ""), ("GET", "/apps"), ("GET", "/apps/3"), ("GET", "/apps/4/channels"),
            ("GET", "/apps/3/events"), ("GET", "/apps/3/batch_events"), ("GET", "/app/app-key"),
        ]
    )
    func paths(method: String, path: String) {
        #expect(answer(signed(method, path))?.status == 404)
    }

    // MARK: Users, caches and batches

    private func populated() throws -> BrainTranscript {
        var server = BrainTranscript { $0.application = Self.application }
        for number in 1...3 { _ = server.connect(number, "/app/\(Self.application.key)") }
        _ = server.join(1, "presence-x", "1")
        _ = server.join(2, "presence-x", "1")
        _ = server.join(3, "presence-x", #""zwei""#)
        _ = server.signIn(3, #"{"id":"a/b c"}"#)
        _ = server.subscribe(3, "#server-to-user-a/b c")
        _ = server.subscribe(1, "cache-x")
        _ = try server.publish("e", "{}", ["cache-x"])
        return server
    }

    private func ask(
        _ server: inout BrainTranscript,
        _ method: String,
        _ path: String,
        _ parameters: [String: String] = [:],
        _ body: String = ""
    ) -> [ServerAction] {
        server.brain.restRequest(RequestID(rawValue: 1), signed(method, path, parameters, body), now: Self.now)
            .withoutRecords
    }

    @Test("the server counts and lists each user once")
    func users() throws {
        var server = try populated()
        func body(_ path: String, _ info: String = "") -> String? {
            ask(&server, "GET", "/apps/3/channels" + path, info.isEmpty ? [:] : ["info": info]).response?.body
        }
        #expect(body("/presence-x/users") == #"{"users":[{"id":"1"},{"id":"zwei"}]}"#)
        #expect(body("/presence-y/users") == #"{"users":[]}"#)
        #expect(body("/presence-x", "user_count") == #"{"occupied":true,"user_count":2}"#)
        #expect(
            body("/presence-x", "user_count,subscription_count")
                == #"{"occupied":true,"subscription_count":3,"user_count":2}"#
        )
        #expect(body("") == #"{"channels":{"cache-x":{},"presence-x":{}}}"#)
        let parameters = ["filter_by_prefix": "presence-", "info": "user_count"]
        #expect(
            ask(&server, "GET", "/apps/3/channels", parameters).response?.body
                == #"{"channels":{"presence-x":{"user_count":2}}}"#
        )
        let event = #"{"name":"e","channels":["presence-x","a"],"data":"","info":"user_count"}"#
        #expect(
            ask(&server, "POST", "/apps/3/events", [:], event).response?.body
                == #"{"channels":{"a":{},"presence-x":{"user_count":2}}}"#
        )
        #expect(ask(&server, "GET", "/apps/3/channels/private-x/users").response?.status == 400)
        #expect(ask(&server, "GET", "/apps/3/channels/%23server-to-user-1").response?.status == 400)
    }

    @Test("the answer contains the cached event and its remaining lifetime")
    func cache() throws {
        var server = try populated()
        server.brain.now = .seconds(1_740)
        func body(_ channel: String) -> String? {
            ask(&server, "GET", "/apps/3/channels/\(channel)", ["info": "cache"]).response?.body
        }
        #expect(body("cache-x") == #"{"cache":{"data":"{}","ttl":60},"occupied":true}"#)
        #expect(body("cache-y") == #"{"cache":null,"occupied":false}"#)
        // Only cache channels have a cache.
        let refused = ask(&server, "GET", "/apps/3/channels/x", ["info": "cache"]).response
        #expect(refused == RESTResponse(status: 400, body: "cache is for cache channels"))
    }

    @Test("an unknown attribute in info is an error")
    func unknownAttributes() {
        let refusal = RESTResponse(status: 400, body: "info should be a comma separated list of attributes")
        for info in ["nothing", "user_count;subscription_count", "subscription_count, user_count"] {
            #expect(answer(signed("GET", "/apps/3/channels", ["info": info])) == refusal)
            #expect(answer(signed("GET", "/apps/3/channels/a", ["info": info])) == refusal)
            let body = #"{"name":"e","channel":"a","data":"","info":"\#(info)"}"#
            #expect(answer(signed("POST", "/apps/3/events", [:], body)) == refusal)
        }
        #expect(answer(signed("GET", "/apps/3/channels", ["info": "cache"])) == refusal)
    }

    @Test("REST requests publish events to a signed-in user, and terminate the user's connections")
    func signedInUser() throws {
        var server = try populated()
        let event = ##"{"name":"e","channel":"#server-to-user-a/b c","data":"1"}"##
        #expect(ask(&server, "POST", "/apps/3/events", [:], event).texts(to: 3).count == 1)
        let path = "/apps/3/users/a%2Fb%20c/terminate_connections"
        let actions = ask(&server, "POST", path, [:], "{}")
        #expect(actions.contains(.close(3, 4009, "You got disconnected by the app.")))
        #expect(actions.response == RESTResponse(status: 200, body: "{}"))
        #expect(ask(&server, "POST", "/apps/3/users/nobody/terminate_connections", [:], "{}").response?.status == 200)
        #expect(server.brain.openConnections.count == 2)
    }

    @Test("the server publishes all events of a batch of up to ten, or none")
    func batch() throws {
        var server = try populated()
        func post(_ body: String) -> [ServerAction] { ask(&server, "POST", "/apps/3/batch_events", [:], body) }
        func event(_ rest: String = "") -> String { #"{"channel":"cache-x","name":"e","data":"{}"\#(rest)}"# }
        let actions = post(#"{"batch":[\#(event()),\#(event(#","info":"subscription_count""#))]}"#)
        #expect(actions.texts(to: 1).count == 2)
        #expect(actions.response?.body == #"{"batch":[{},{"subscription_count":1}]}"#)
        #expect(post(#"{"batch":[\#(event())]}"#).response?.body == "{}")
        #expect(post(#"{"batch":[]}"#).response?.body == "{}")
        let excluding = post(#"{"batch":[\#(event(#","socket_id":"7.1""#))]}"#)
        #expect(excluding.texts(to: 1).isEmpty && excluding.response?.status == 200)
        let invalid = [
            "", "[]", "{}", #"{"batch":{}}"#, #"{"batch":[1]}"#, #"{"batch":[\#(event()),{}]}"#,
            #"{"batch":[{"channels":["a"],"name":"e","data":""}]}"#,
            #"{"batch":[\#(Array(repeating: event(), count: 11).joined(separator: ","))]}"#,
        ]
        for body in invalid {
            let actions = post(body)
            #expect(actions.response?.status == 400)
            #expect(actions.texts(to: 1).isEmpty)
        }
    }
}
