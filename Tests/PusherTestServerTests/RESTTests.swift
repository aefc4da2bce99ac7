import PusherProtocol
import Testing

@testable import PusherTestServer

@Suite("The REST API", .timeLimit(.minutes(5)))
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
        "signatures are those of Pusher's documents",
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

    @Test("an event reaches the subscribers but the one that is left out")
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

    @Test("numbers of subscribers are told where they are asked for")
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
        "each check of the signature",
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

    @Test("a request is good for 600 seconds", arguments: [(600, 200), (601, 401), (-600, 200), (-601, 401)])
    func time(difference: Int, status: Int) {
        #expect(answer(signed("GET", "/apps/3/channels"), now: Self.now + difference)?.status == status)
    }

    @Test("a changed body, path, method or secret")
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
        "each check of the body",
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
            (String(repeating: " ", count: 1 << 20 + 1), 413), (String(repeating: "[", count: 100_000), 400),
            (#"{"name":"e","channel":"a","data":"{}","x":\#(String(repeating: "[", count: 400))"#, 400),
            (
                #"{"name":"e","channels":[\#(Array(repeating: "\"a\"", count: 101).joined(separator: ","))],"data":""}"#,
                400
            ),
        ]
    )
    func bodies(body: String, status: Int) {
        #expect(answer(signed("POST", "/apps/3/events", [:], body))?.status == status)
    }

    @Test(
        "paths that lead nowhere",
        arguments: [
            ("GET", "/"), ("GET", ""), ("GET", "/apps"), ("GET", "/apps/3"), ("GET", "/apps/4/channels"),
            ("GET", "/apps/3/events"), ("GET", "/apps/3/batch_events"), ("GET", "/app/app-key"),
        ]
    )
    func paths(method: String, path: String) {
        #expect(answer(signed(method, path))?.status == 404)
    }
}
