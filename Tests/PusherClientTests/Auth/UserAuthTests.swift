import PusherClient
import TestSupport
import TestTraits
import Testing

@Suite("Signing a user in", .limited)
struct UserAuthTests {
    static let url = "https://example.com/user-auth"

    @Test("the form has only the socket id and the parameters")
    func request() async {
        let requester = FakeRequester(200, #"{"auth":"k:s","user_data":"{\"id\":\"1\"}"}"#)
        let asked = Log<AuthEndpoint.Request>()
        let endpoint = AuthEndpoint(
            Self.url,
            parameters: ["a": "1"],
            isBatching: true,
            parametersProvider: { request in
                asked.append(request)
                return ["b": "2"]
            }
        )
        let result = await UserAuthMethod.endpoint(endpoint).authenticate(socketID: "1.1", in: requester.context())
        #expect(result.value == Authorization(auth: "k:s", data: #"{"id":"1"}"#))
        #expect(requester.bodies == ["socket_id=1.1&a=1&b=2"])
        #expect(asked.elements == [AuthEndpoint.Request(socketID: "1.1")])
        #expect(asked.elements.first?.channelNames == [])
    }

    @Test(
        "an unusable answer causes an error",
        arguments: [
            ("{}", #"has no "auth""#), (#"{"auth":"k:geheim"}"#, #"has no "user_data""#),
            (
                #"{"auth":"k:geheim","user_data":{"id":"geheim"}}"#,
                #"has an object as "user_data". It must be a string with the JSON text"#
            ),
            (#"{"auth":"k:geheim","user_data":null}"#, #"has no "user_data""#), ("[]", "is an array"),
        ]
    )
    func invalid(body: String, why: String) async {
        let method = UserAuthMethod.endpoint("https://example.com/user-auth")
        let error = await method.authenticate(socketID: "1.1", in: FakeRequester(200, body).context()).error
        #expect(error?.code == .invalidResponse)
        #expect(error?.message.contains(why) == true)
        #expect(error?.message.contains("geheim") == false)
    }

    @Test("a refusal by the backend causes an error")
    func refusal() async {
        let method = UserAuthMethod.endpoint("https://example.com/user-auth")
        let error = await method.authenticate(socketID: "1.1", in: FakeRequester(403, "no").context()).error
        #expect(error?.code == .refused)
        #expect(error?.httpStatus == 403)
        #expect(error?.body == "no")
        #expect(error?.message.contains("the user") == true)
    }

    @Test(
        "the client makes the user's signature itself with the app's secret",
        arguments: [
            (#"{"id":"12345"}"#, "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"),
            (
                #"{"id":"1","user_info":{"name":"Zoë"},"watchlist":["2","3"]}"#,
                "31a12919d25cfe278f8689d93abbcf79a1f40fe4996b9789a1f1a4d3529637e3"
            ),
        ]
    )
    func inline(userData: String, code: String) async {
        let method = UserAuthMethod.inline(secret: AuthMethodTests.secret) { userData }
        let result = await method.authenticate(
            socketID: "1234.1234",
            in: FakeRequester().context(key: "278d425bdf160c739803")
        )
        #expect(result.value == Authorization(auth: "278d425bdf160c739803:\(code)", data: userData))
    }

    @Test("the client passes on the answer, error and cancellation of an authenticator")
    func authenticator() async {
        struct Failure: Error {}
        let context = FakeRequester().context()
        let answering = UserAuthMethod.authenticator { UserAuth(auth: "k:\($0)", userData: "{}") }
        #expect(
            await answering.authenticate(socketID: "1.1", in: context).value == Authorization(auth: "k:1.1", data: "{}")
        )
        let throwing = UserAuthMethod.authenticator { _ in throw Failure() }
        #expect(await throwing.authenticate(socketID: "1.1", in: context).error?.cause is Failure)
        let failing = UserAuthMethod.inline(secret: "s") { throw Failure() }
        #expect(await failing.authenticate(socketID: "1.1", in: context).error?.code == .authorizerFailed)
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let hanging = UserAuthMethod.authenticator { _ in
            await Task { for await _ in gate {} }.value
            throw Failure()
        }
        let task = Task { await hanging.authenticate(socketID: "1.1", in: context) }
        task.cancel()
        #expect(await task.value.error?.cause is CancellationError)
        opening.finish()
    }

    @Test("the error for a missing method says what to do")
    func noMethod() async {
        let error = await UserAuthMethod.noMethod.authenticate(socketID: "1.1", in: FakeRequester().context()).error
        #expect(error?.code == .noMethod)
        #expect(error?.message.contains("userAuthMethod") == true)
    }
}
