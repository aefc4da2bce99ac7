import PusherClient
import RealtimeHTTP
import TestSupport
import TestTraits
import Testing

@Suite("Authorization methods", .limited)
struct AuthMethodTests {
    static let secret = "7ad3773142a6692b25b8"
    static let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    static let endpoint = AuthEndpoint(
        "https://user:\(secret)@example.com/auth?token=\(secret)",
        headers: ["Authorization": secret],
        parameters: ["token": secret],
        headersProvider: { _ in ["Authorization": secret] },
        parametersProvider: { _ in ["token": secret] }
    )

    static let methods: [AuthMethod] = [
        .endpoint(authEndpoint: "https://user:\(secret)@example.com/auth?token=\(secret)#\(secret)"),
        .endpoint(endpoint),
        .authRequestBuilder(authRequestBuilder: SecretiveBuilder()),
        .authorizer(authorizer: SecretiveAuthorizer()),
        .authorizer { _ in PusherAuth(auth: secret) },
        .inline(secret: secret),
        .inline(secret: secret, encryptionMasterKey: masterKey),
        .noMethod,
    ]

    struct SecretiveBuilder: AuthRequestBuilderProtocol, CustomStringConvertible {
        let token = secret
        var description: String { token }
    }

    struct SecretiveAuthorizer: Authorizer, CustomStringConvertible {
        let token = secret
        var description: String { token }

        func fetchAuthValue(
            socketID: String,
            channelName: String,
            completionHandler: @escaping @Sendable (PusherAuth?) -> Void
        ) {}
    }

    struct Holder {
        var method: AuthMethod
        var user: UserAuthMethod
        var endpoint: AuthEndpoint
        var answer: UserAuth
        var auth: PusherAuth
    }

    @Test("printing an auth method shows no secret, wherever it is stored", arguments: methods)
    func printing(_ method: AuthMethod) {
        let holder = Holder(
            method: method,
            user: .inline(secret: Self.secret) { Self.secret },
            endpoint: Self.endpoint,
            answer: UserAuth(auth: Self.secret, userData: Self.secret),
            auth: PusherAuth(auth: Self.secret, channelData: Self.secret, sharedSecret: Self.secret)
        )
        var texts = ["\(method)", String(reflecting: method), "\([method])", "\(["a": Optional(method)])", "\(holder)"]
        texts.append(String(reflecting: holder))
        for value in [method, [method], holder, Optional(method) as Any] as [Any] {
            var text = ""
            dump(value, to: &text)
            texts.append(text)
        }
        for text in texts {
            #expect(!text.contains(Self.secret))
            #expect(!text.contains(Self.masterKey))
        }
        #expect("\(method)".hasPrefix("AuthMethod."))
    }

    @Test("a printed auth method names its kind")
    func descriptions() {
        #expect(
            Self.methods.map { "\($0)" } == [
                "AuthMethod.endpoint(https://example.com/auth)",
                "AuthMethod.endpoint(AuthEndpoint(POST https://example.com/auth))",
                "AuthMethod.authRequestBuilder(SecretiveBuilder)",
                "AuthMethod.authorizer(SecretiveAuthorizer)",
                "AuthMethod.authorizer(…)",
                "AuthMethod.inline(…)",
                "AuthMethod.inline(…)",
                "AuthMethod.noMethod",
            ]
        )
        let users: [UserAuthMethod] = [
            .endpoint(Self.endpoint), .authenticator { _ in UserAuth(auth: "", userData: "") },
            .inline(secret: "") { "" }, .noMethod,
        ]
        #expect(
            users.map { "\($0)" } == [
                "UserAuthMethod.endpoint(AuthEndpoint(POST https://example.com/auth))",
                "UserAuthMethod.authenticator(…)", "UserAuthMethod.inline(…)", "UserAuthMethod.noMethod",
            ]
        )
        #expect("\(Self.endpoint.parameters)" == "Parameters(token)")
    }

    @Test("a switch over PusherSwift's five cases compiles with and without argument labels", arguments: methods)
    func fiveCases(_ method: AuthMethod) {
        let labelled =
            switch method {
            case .endpoint(authEndpoint: let url): url
            case .authRequestBuilder(authRequestBuilder: let builder): "\(type(of: builder))"
            case .authorizer(authorizer: let authorizer): "\(type(of: authorizer))"
            case .inline(secret: let secret): secret
            case .noMethod: ""
            }
        let unlabelled =
            switch method {
            case .endpoint(let url): url
            case .authRequestBuilder(let builder): "\(type(of: builder))"
            case .authorizer(let authorizer): "\(type(of: authorizer))"
            case .inline(let secret): secret
            case .noMethod: ""
            }
        #expect(labelled == unlabelled)
    }

    @Test("an app can write an endpoint as a literal, a string or an AuthEndpoint, with its settings")
    func endpoints() async {
        let url = "https://example.com/auth"
        let plain: [AuthMethod] = [
            .endpoint("https://example.com/auth"), .endpoint(url), .endpoint(AuthEndpoint(url)),
            .endpoint(authEndpoint: url), [url].map(AuthMethod.endpoint)[0],
        ]
        let requester = FakeRequester()
        for method in plain { _ = await method.authorize(in: requester.context()) }
        let form = "socket_id=1.1&channel_name=private-a"
        #expect(requester.requests.elements.map(\.url) == plain.map { _ in url })
        #expect(requester.bodies == plain.map { _ in form })

        let full = FakeRequester()
        let method = AuthMethod.endpoint(
            url,
            method: "PUT",
            headers: ["X-A": "1"],
            parameters: ["b": "2"],
            timeout: .seconds(3),
            headersProvider: { _ in ["X-C": "3"] },
            parametersProvider: { _ in ["d": "4"] }
        )
        _ = await method.authorize(in: full.context())
        let request = full.requests.elements.first
        #expect(request?.method == "PUT")
        #expect(request?.timeout == .seconds(3))
        #expect(request?.headers["X-A"] == "1")
        #expect(request?.headers["X-C"] == "3")
        #expect(full.bodies == ["\(form)&b=2&d=4"])
    }

    @Test("an app can write a user's endpoint as a literal, a string or an AuthEndpoint")
    func userEndpoints() async {
        let url = "https://example.com/user-auth"
        let methods: [UserAuthMethod] = [
            .endpoint("https://example.com/user-auth"), .endpoint(url), .endpoint(AuthEndpoint(url)),
            .endpoint(url, parameters: ["a": "1"]),
        ]
        let requester = FakeRequester()
        for method in methods { _ = await method.authenticate(socketID: "1.1", in: requester.context()) }
        #expect(requester.requests.elements.map(\.url) == methods.map { _ in url })
        #expect(requester.bodies == ["socket_id=1.1", "socket_id=1.1", "socket_id=1.1", "socket_id=1.1&a=1"])
        for method in methods {
            guard case .endpoint(let endpoint) = method else {
                Issue.record("it is another case")
                continue
            }
            #expect(endpoint.url == url)
        }
    }

    @Test("the error for a missing method says what to do")
    func noMethod() async {
        let error = await AuthMethod.noMethod.authorize(in: FakeRequester().context()).error
        #expect(error?.code == .noMethod)
        #expect(error?.message.contains("channel 'private-a' failed: there is no authMethod") == true)
        #expect(error?.message.contains("authMethod") == true)
        #expect(error?.recovery == AuthorizationError.Recovery.none)
    }

    @Test("authorizing an empty list of channels sends no request", arguments: methods)
    func noRequests(_ method: AuthMethod) async {
        let requester = FakeRequester()
        #expect(await method.authorize([], in: requester.context()).isEmpty)
        #expect(requester.requests.count == 0)
    }
}
