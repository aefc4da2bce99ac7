import Foundation
import PusherClient
import RealtimeHTTP
import TestTraits
import Testing

@Suite("Answers of an authorization endpoint", .limited)
struct EndpointAnswerTests {
    static let endpoint = AuthMethod.endpoint(authEndpoint: "https://example.com/auth?token=geheim")
    static let changing = AuthMethod.endpoint(AuthEndpoint("https://example.com/auth", headersProvider: { _ in [:] }))

    @Test("any 2xx answer with a complete object authorizes the channel", arguments: [200, 201, 202, 299])
    func success(status: Int) async {
        let answers: [(String, Authorization)] = [
            (#"{"auth":"k:s"}"#, Authorization(auth: "k:s")),
            (
                #"{"auth":"k:s","channel_data":"{\"user_id\":1}","shared_secret":"x","more":[1]}"#,
                Authorization(auth: "k:s", data: #"{"user_id":1}"#, sharedSecret: "x")
            ),
            (#" {"shared_secret":null,"channel_data":null,"auth":"é:s"} "#, Authorization(auth: "é:s")),
        ]
        for (body, expected) in answers {
            let result = await Self.endpoint.authorize(in: FakeRequester(status, body).context())
            #expect(result.value == expected)
        }
    }

    @Test("an answer with a byte order mark authorizes the channel")
    func byteOrderMark() async {
        for mark in ["\u{FEFF}", "\u{FEFF}\u{FEFF}"] {
            let result = await Self.endpoint.authorize(in: FakeRequester(200, mark + #"{"auth":"k:s"}"#).context())
            #expect((result.value == Authorization(auth: "k:s")) == (mark.utf8.count == 3))
        }
    }

    @Test(
        "the error for an unusable answer says why, and its body has no secrets",
        arguments: [
            ("", "is empty"), ("geheim", "is not JSON"), ("{", "is not JSON"), ("{}x", "is not JSON"),
            ("[]", "is an array. It must be a JSON object"), ("null", "is null"), ("1", "is a number"),
            (#""geheim""#, "is a string"), ("true", "is a boolean"),
            (String(repeating: "[", count: 50), "nested too deep"),
            ("{}", #"has no "auth""#), (#"{"Auth":"geheim"}"#, #"has no "auth""#),
            (#"{"auth":null}"#, #"has no "auth""#),
            (#"{"auth":""}"#, #"has no "auth""#), (#"{"auth":1}"#, #"has a number as "auth""#),
            (#"{"auth":["geheim"]}"#, #"has an array as "auth""#), (#"{"auth":{"a":1}}"#, #"has an object as "auth""#),
            (#"{"auth":"\#(String(repeating: "x", count: 1_025))"}"#, #"has more than 1024 bytes in "auth""#),
            (
                #"{"auth":"k:geheim","channel_data":{"user_id":"geheim"}}"#,
                #"has an object as "channel_data". It must be a string with the JSON text"#
            ),
            (#"{"auth":"k:geheim","channel_data":5}"#, #"has a number as "channel_data""#),
            (#"{"auth":"k:geheim","shared_secret":{}}"#, #"has an object as "shared_secret""#),
            (
                #"{"auth":"k:geheim","shared_secret":"\#(String(repeating: "x", count: 1_025))"}"#,
                #"has more than 1024 bytes in "shared_secret""#
            ),
            (#"{"auth":"geheim"}"#, "is unusable: auth does not have the form KEY:SIGNATURE."),
            (#"{"auth":"k:geheim\n"}"#, "is unusable: auth contains a space or a line break"),
        ]
    )
    func invalid(body: String, why: String) async {
        let headers: HTTPFields = ["set-cookie": "session=geheim", "Set-Cookie": "b=geheim", "X-A": "1"]
        let error = await Self.endpoint.authorize(in: FakeRequester(200, body, headers).context()).error
        #expect(error?.code == .invalidResponse)
        #expect(error?.address == "https://example.com/auth")
        #expect(error?.httpHeaders == ["X-A": "1"])
        #expect(error?.httpStatus == 200)
        #expect(error?.body != nil)
        #expect(error?.body?.contains("k:") == false && error?.body?.contains("xxx") == false)
        #expect(error?.recovery == AuthorizationError.Recovery.none)
        #expect(error?.message.contains(why) == true)
        #expect(error?.message.contains("channel 'private-a'") == true)
        #expect(error?.message.contains("https://example.com/auth for") == true)
        #expect(error?.message.contains("geheim") == false)
    }

    @Test(
        "the body of an unusable answer stays in the error, cut, and without credentials and long words",
        arguments: [
            ("Warning: undefined variable", "Warning: undefined variable"),
            (#"{"message":"no user","code":7}"#, #"{"code":7,"message":"no user"}"#),
            (
                #"{"token":"t","user_data":{"id":1},"a":[{"shared_secret":"s"}]}"#,
                #"{"a":[{"shared_secret":"(hidden)"}],"token":"(hidden)","user_data":"(hidden)"}"#
            ),
            (#"{"value":"app:\#(String(repeating: "0f", count: 32))"}"#, #"{"value":"(hidden)"}"#),
            ("<html>\(String(repeating: "aB", count: 16)) é</html>", "<html>(hidden) é</html>"),
            (String(repeating: "a ", count: 6_000), String(repeating: "a ", count: 5_000)),
            // PHP escapes the slashes of base64.
            (#"{"shared_secret":"\#(String(repeating: #"QUJD\/"#, count: 6))","#, #"{"shared_secret":"(hidden)","#),
            // A body that is longer than the error keeps is still read as JSON.
            (
                #"{"password":"short","z":"\#(String(repeating: "a ", count: 15_000))"}"#,
                String((#"{"password":"(hidden)","z":""# + String(repeating: "a ", count: 6_000)).prefix(10_000))
            ),
            (#"{"auth":"nothing","code":7}"#, #"{"auth":"(hidden)","code":7}"#),
        ]
    )
    func body(body: String, shown: String) async {
        #expect(await Self.endpoint.authorize(in: FakeRequester(200, body).context()).error?.body == shown)
    }

    @Test(
        "the error for an answer without what a channel's type needs has the body",
        arguments: [
            ("private-encrypted-a", #"{"auth":"k:s","note":"n"}"#, "shared_secret, which an encrypted channel needs"),
            ("presence-a", #"{"auth":"k:s","note":"n","channel_data":"5"}"#, "channel_data is not the JSON text"),
            ("presence-a", #"{"auth":"k:s","note":"n","channel_data":"{}"}"#, "channel_data has no user_id"),
        ]
    )
    func incomplete(channel: String, body: String, why: String) async {
        let error = await Self.endpoint.authorize(channel, in: FakeRequester(200, body).context()).error
        #expect(error?.code == .invalidResponse)
        #expect(error?.message.contains("is unusable: \(why)") == true)
        #expect(error?.body?.contains(#""note":"n""#) == true)
        #expect(error?.body?.contains("k:s") == false)
    }

    @Test("a presence channel needs no channel_data, because a signed-in user replaces it")
    func withoutChannelData() async {
        let result = await Self.endpoint.authorize("presence-a", in: FakeRequester().context())
        #expect(result.value == Authorization(auth: "key:signature"))
    }

    @Test("the error for a compressed answer names the encoding")
    func compressed() async {
        let requester = FakeRequester(200, "\u{1F}x", ["Content-Encoding": "gzip"])
        let error = await Self.endpoint.authorize(in: requester.context()).error
        #expect(error?.code == .invalidResponse)
        #expect(error?.message.contains("is compressed with gzip") == true)
        #expect(error?.body == nil)
    }

    @Test(
        "the client recognizes an HTML page by its Content-Type or by its first characters",
        arguments: [
            ("<!DOCTYPE html><p>geheim", [:]), ("\n \t<HTML lang=en>geheim", [:]), ("<!doctype HTML>", [:]),
            ("geheim", ["Content-Type": "text/html; charset=utf-8"]),
            ("<p>", ["content-type": "application/xhtml+xml"]),
        ] as [(String, HTTPFields)]
    )
    func html(body: String, headers: HTTPFields) async {
        let error = await Self.endpoint.authorize(in: FakeRequester(200, body, headers).context()).error
        #expect(error?.code == .invalidResponse)
        #expect(error?.message.contains("is an HTML page") == true)
        #expect(error?.message.contains("login page") == true)
        #expect(error?.message.contains("geheim") == false)
    }

    @Test("the client reads JSON with any content type")
    func jsonCalledHTML() async {
        let requester = FakeRequester(200, #"{"auth":"k:s"}"#, ["Content-Type": "text/html"])
        #expect(await Self.endpoint.authorize(in: requester.context()).value == Authorization(auth: "k:s"))
    }

    @Test("the error after a redirect names both servers without showing secrets")
    func redirected() async {
        for status in [200, 404] {
            let requester = FakeRequester { _ in
                var response = HTTPResponse(status: status, body: Array("<html>".utf8))
                response.url = "https://ada:geheim@example.com/login?next=geheim#geheim"
                return response
            }
            let error = await Self.endpoint.authorize(in: requester.context()).error
            #expect(error?.address == "https://example.com/login")
            let place = "https://example.com/login (redirected from https://example.com/auth)"
            #expect(error?.message.contains(place) == true)
            #expect(error?.message.contains("geheim") == false)
        }
        let requester = FakeRequester { _ in
            var error = HTTPRequestError(.failed, "no TCP connection could be made")
            error.url = "https://login.example.com/?geheim"
            throw error
        }
        let error = await Self.endpoint.authorize(in: requester.context()).error
        #expect(error?.address == "https://login.example.com/")
        #expect(
            error?.message.contains("https://login.example.com/ (redirected from https://example.com/auth) gave")
                == true
        )
    }

    @Test("too much data, an incomplete answer and invalid UTF-8 cause errors")
    func oversized() async {
        let data = String(repeating: "x", count: 100_001)
        let long = FakeRequester(200, #"{"auth":"k:s","channel_data":"\#(data)"}"#)
        #expect(
            await Self.endpoint.authorize(in: long.context()).error?.message
                .contains(#"has more than 100000 bytes in "channel_data""#) == true
        )
        let cut = FakeRequester { _ in HTTPResponse(status: 200, body: Array("{}".utf8), isCut: true) }
        #expect(
            await Self.endpoint.authorize(in: cut.context()).error?.message.contains("has more than 2 bytes") == true
        )
        let bytes = FakeRequester { _ in HTTPResponse(status: 200, body: [0x22, 0xFF, 0x22]) }
        #expect(await Self.endpoint.authorize(in: bytes.context()).error?.message.contains("is not UTF-8") == true)
    }

    @Test(
        "the error for a refusal has the status, headers and body, and says whether the client should retry",
        arguments: [
            (301, .none), (304, .none), (400, .none), (401, .askOnceMore), (403, .askOnceMore), (404, .none),
            (405, .none), (408, .retry(after: .seconds(7))), (410, .none), (419, .none),
            (429, .retry(after: .seconds(7))), (500, .retry(after: .seconds(7))), (502, .retry(after: .seconds(7))),
            (503, .retry(after: .seconds(7))), (599, .retry(after: .seconds(7))), (600, .none), (100, .none),
        ] as [(Int, AuthorizationError.Recovery)]
    )
    func refusal(status: Int, recovery: AuthorizationError.Recovery) async {
        let requester = FakeRequester(
            status,
            #"{"auth":"k:geheim"}"#,
            ["Retry-After": "7", "X-A": "1", "x-a": "2", "Set-Cookie": "session=geheim"]
        )
        for method in [Self.endpoint, Self.changing] {
            let error = await method.authorize(in: requester.context()).error
            #expect(error?.code == .refused)
            #expect(error?.httpStatus == status)
            #expect(error?.address == "https://example.com/auth")
            #expect(error?.httpHeaders == ["Retry-After": "7", "X-A": "1, 2"])
            #expect(error?.body == #"{"auth":"k:geheim"}"#)
            #expect(error?.message.contains("https://example.com/auth answered with status \(status).") == true)
            #expect(error?.message.contains("geheim") == false)
            #expect(error?.description.contains("geheim") == false)
        }
        #expect(await Self.changing.authorize(in: requester.context()).error?.recovery == recovery)
        // Without a provider of header fields, the client does not retry after a 401 or 403, because the answer would
        // be the same.
        let unchanged: AuthorizationError.Recovery = recovery == .askOnceMore ? .none : recovery
        #expect(await Self.endpoint.authorize(in: requester.context()).error?.recovery == unchanged)
    }

    @Test("errors leave out header fields that may contain credentials")
    func secretFields() async {
        let secret: HTTPFields = [
            "X-Auth-Token": "geheim", "X-Session": "geheim", "Proxy-Authorization": "geheim", "X-CSRF-Token": "geheim",
            "X-Api-Key": "geheim", "Set-Cookie": "geheim", "Location": "geheim", "X-Amz-Signature": "geheim",
            "WWW-Authenticate": "Bearer", "X-Request-ID": "7", "Content-Type": "text/plain",
        ]
        let error = await Self.endpoint.authorize(in: FakeRequester(403, "", secret).context()).error
        #expect(
            error?.httpHeaders
                == ["WWW-Authenticate": "Bearer", "X-Request-ID": "7", "Content-Type": "text/plain"]
        )
    }

    @Test("errors contain a limited number of a refusal's header fields, and shorten long fields")
    func headerFields() async {
        var fields = HTTPFields()
        for number in 1...255 { fields.append("X-\(number)", String(repeating: "é", count: 4_000)) }
        let error = await Self.endpoint.authorize(in: FakeRequester(403, "", fields).context()).error
        #expect(error?.httpHeaders.count == 64)
        #expect(error?.httpHeaders["X-1"] == String(repeating: "é", count: 500))
        let named = FakeRequester(403, "", [String(repeating: "N", count: 201): "1", "X-A": "2"])
        #expect(await Self.endpoint.authorize(in: named.context()).error?.httpHeaders == ["X-A": "2"])
    }

    @Test("errors contain at most 10,000 bytes of a refusal's body, even if the body is not UTF-8")
    func refusalBody() async {
        let long = await Self.endpoint.authorize(
            in: FakeRequester(403, String(repeating: "🇩🇪", count: 20_000)).context()
        )
        #expect(long.error?.body == String(repeating: "🇩🇪", count: 1_250))
        let one = FakeRequester(403, "e" + String(repeating: "\u{301}", count: 20_000))
        #expect(await Self.endpoint.authorize(in: one.context()).error?.body?.utf8.count == 9_999)
        let bytes = FakeRequester { _ in HTTPResponse(status: 500, body: [0x61, 0xFF], isCut: true) }
        #expect(await Self.endpoint.authorize(in: bytes.context()).error?.body == "a\u{FFFD}")
    }

    @Test(
        "the client reads seconds or a date from Retry-After, and waits for at most a minute",
        arguments: [
            (nil, 0), ("", 0), ("0", 0), ("5", 5), (" 5 ", 5), ("60", 60), ("61", 60), ("999999999999999999999", 0),
            ("-5", 0), ("1.5", 0), ("soon", 0),
        ] as [(String?, Int)]
    )
    func retryAfter(text: String?, seconds: Int) async {
        let headers: HTTPFields = text.map { ["retry-after": $0] } ?? [:]
        let error = await Self.endpoint.authorize(in: FakeRequester(429, "", headers).context()).error
        #expect(error?.recovery == .retry(after: .seconds(seconds)))
    }

    @Test("the client accepts a Retry-After date in the past or far in the future")
    func retryAfterDate() async {
        for (date, seconds) in [("Fri, 31 Dec 1999 23:59:59 GMT", 0), ("Tue, 31 Dec 2199 23:59:59 GMT", 60)] {
            let error = await Self.endpoint.authorize(in: FakeRequester(503, "", ["Retry-After": date]).context()).error
            #expect(error?.recovery == .retry(after: .seconds(seconds)))
        }
    }

    @Test("the client retries a failed request only if the failure may be temporary")
    func notAnswered() async {
        struct Broken: Error {}
        let failures: [(any Error, AuthorizationError.Code, AuthorizationError.Recovery)] = [
            (HTTPRequestError(.timedOut, "it took too long"), .requestFailed, .retry(after: .zero)),
            (HTTPRequestError(.failed, "no TCP connection", cause: Broken()), .requestFailed, .retry(after: .zero)),
            (HTTPRequestError(.redirectRefused, "it redirects"), .redirectRefused, .none),
            (HTTPRequestError(.shutDown, "the client was released"), .requestFailed, .none),
            (HTTPRequestError(.invalidRequest, "no URL"), .invalidRequest, .none),
            (Broken(), .requestFailed, .retry(after: .zero)),
            (CancellationError(), .requestFailed, .none),
        ]
        for (failure, kind, recovery) in failures {
            let isCancelled = failure is CancellationError
            let error = await Self.endpoint.authorize(in: FakeRequester { _ in throw failure }.context()).error
            #expect(error?.code == kind)
            #expect(error?.recovery == recovery)
            #expect(error?.httpStatus == nil)
            #expect(error?.address == (kind != .invalidRequest && !isCancelled ? "https://example.com/auth" : nil))
            #expect(error?.message.contains("geheim") == false)
            if let failure = failure as? HTTPRequestError {
                #expect(error?.message.contains(failure.message) == true)
                #expect((error?.cause is Broken) == (failure.cause is Broken))
            }
        }
    }
}
