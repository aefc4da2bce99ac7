import PusherServerAPI
import RealtimeHTTP
import TestSupport
import TestTraits
import Testing

@Suite("The server API's errors and retries", .limited)
struct AnswerTests {
    private static let event = PusherServerAPI.Event("e", data: "{}")

    @Test(
        "an HTTP status that is no success causes an error with the matching code",
        arguments: [
            (400, .badRequest), (401, .unauthorized), (403, .forbidden), (404, .notFound), (413, .tooLarge),
            (429, .tooManyRequests), (500, .serverFailed), (503, .serverFailed), (418, .unexpectedAnswer),
        ] as [(Int, PusherServerAPIError.Code)]
    )
    func statuses(status: Int, code: PusherServerAPIError.Code) async throws {
        let (api, _) = try OfflineAPI.make(answers: [.answer(status, "the reason\nis this")])
        let error = try #require(await failure { try await api.trigger(Self.event, on: "a") })
        #expect(error.code == code)
        #expect(error.httpStatus == status)
        #expect(
            error.message.hasPrefix(
                "POST https://api-eu.pusher.com:443/apps/3/events failed: the server answered \(status) (the reason is this). "
            )
        )
    }

    @Test(
        "errors contain the server's message, but no HTML pages and no signatures",
        arguments: [
            ("<html>no</html>", ". "), (#"{"error":"not so"}"#, " (not so). "),
            ("got \(String(repeating: "0f", count: 32))!", " (got …!). "),
        ]
    )
    func words(body: String, shown: String) async throws {
        let (api, _) = try OfflineAPI.make(answers: [.answer(401, body)])
        let error = await failure { try await api.trigger(Self.event, on: "a") }
        #expect(error?.message.contains("the server answered 401\(shown)") == true, "\(error?.message ?? "")")
    }

    @Test(
        "an answer with status 200 that contains an error and a code is a failure with that code",
        arguments: [
            (400, .badRequest, 1), (401, .unauthorized, 1), (404, .notFound, 1), (413, .tooLarge, 1),
            (429, .tooManyRequests, 3), (500, .serverFailed, 3), (4009, .unexpectedAnswer, 1),
        ] as [(Int, PusherServerAPIError.Code, Int)]
    )
    func refusalWithSuccess(code: Int, kind: PusherServerAPIError.Code, requests: Int) async throws {
        let body = #"{"error":"The secret authentication failed","code":\#(code)}"#
        let (api, requester) = try OfflineAPI.make(answers: [.answer(200, body)])
        let error = try #require(await failure { _ = try await api.channels() })
        #expect(error.code == kind)
        #expect(error.httpStatus == code)
        #expect(error.message.contains("the server answered \(code) (The secret authentication failed). "))
        #expect(requester.log.count == requests)
        #expect(await failure { try await api.trigger(Self.event, on: "a") }?.code == kind)
    }

    // MARK: Retries

    @Test(
        "after a temporary failure, the library retries a read request",
        arguments: [408, 429, 500, 502, 503, 504]
    )
    func readAgain(status: Int) async throws {
        let (api, requester) = try OfflineAPI.make(answers: [.answer(status), .failed(isUnsent: false), .answer(200)])
        _ = try await api.channels()
        #expect(requester.log.count == 3)
    }

    @Test(
        "the library stops retrying at the retry limit, and does not retry after other failures",
        arguments: [(500, 3), (501, 1), (401, 1), (404, 1)]
    )
    func readNoMore(status: Int, requests: Int) async throws {
        let (api, requester) = try OfflineAPI.make(answers: [.answer(status)])
        #expect(await failure { _ = try await api.channels() }?.httpStatus == status)
        #expect(requester.log.count == requests)
    }

    @Test(
        "the library retries a write request only if the server cannot have performed the request",
        arguments: [
            (.answer(429), 2), (.failed(isUnsent: true), 2), (.failed(isUnsent: false), 1), (.answer(500), 1),
            (.answer(502), 1), (.answer(503), 1), (.answer(408), 1),
        ] as [(Result<HTTPResponse, HTTPRequestError>, Int)]
    )
    func changeAgain(first: Result<HTTPResponse, HTTPRequestError>, requests: Int) async throws {
        for call in [
            { try await $0.trigger(Self.event, on: "a") }, { try await $0.trigger([.init(Self.event, on: "a")]) },
            { try await $0.send(Self.event, toUser: "1") }, { try await $0.terminateConnections(ofUser: "1") },
        ] as [(PusherServerAPI) async throws -> Void] {
            let (api, requester) = try OfflineAPI.make(answers: [first, .answer(200)])
            let error = await failure { try await call(api) }
            #expect((error == nil) == (requests == 2))
            #expect(requester.log.count == requests)
        }
    }

    @Test("a retried request gets the rest of the timeout")
    func restOfTimeout() async throws {
        let (api, requester) = try OfflineAPI.make(answers: [.answer(503)]) {
            $0.retryPolicy = .delays([.milliseconds(20), .milliseconds(20)], repeatsLast: false)
        }
        #expect(await failure { _ = try await api.channels() }?.httpStatus == 503)
        let timeouts = requester.log.elements.map(\.timeout)
        #expect(timeouts.count == 3)
        #expect(timeouts[0] <= .patience)
        #expect(timeouts[1] <= timeouts[0] - .milliseconds(20))
        #expect(timeouts[2] <= timeouts[1] - .milliseconds(20))
    }

    @Test("the library does not retry if the wait would exceed the timeout")
    func retryAfter() async throws {
        let (api, requester) = try OfflineAPI.make(answers: [.answer(429, "", headers: ["Retry-After": "60"])]) {
            $0.timeout = .seconds(30)
        }
        #expect(await failure { _ = try await api.channels() }?.code == .tooManyRequests)
        #expect(requester.log.count == 1)
    }

    // MARK: States

    @Test("the library reads channels and attributes, even in the form that PHP servers write")
    func channels() async throws {
        let (api, _) = try OfflineAPI.make(answers: [
            .answer(
                200,
                #"{"channels":{"presence-a":{"user_count":2},"b":[],"c":{"subscription_count":3,"occupied":true}}}"#
            ),
            .answer(200, #"{"channels":[]}"#), .answer(200, "[]"), .answer(200, "no JSON"),
        ])
        #expect(
            try await api.channels() == [
                "presence-a": .init(userCount: 2), "b": .init(), "c": .init(isOccupied: true, subscriptionCount: 3),
            ]
        )
        #expect(try await api.channels().isEmpty)
        for _ in 1...2 { #expect(await failure { _ = try await api.channels() }?.code == .unexpectedAnswer) }
    }

    @Test("the library reads a channel with its cached event")
    func channel() async throws {
        let (api, requester) = try OfflineAPI.make(answers: [
            .answer(200, #"{"occupied":false,"cache":{"data":"{}","ttl":60}}"#),
            .answer(200, #"{"occupied":true,"cache":null}"#),
        ])
        #expect(
            try await api.channel("cache-a", info: [.cache, .subscriptionCount])
                == .init(isOccupied: false, cachedEvent: .init(data: "{}", timeToLive: .seconds(60)))
        )
        #expect(requester.log.elements.first?.url.contains("/channels/cache-a?") == true)
        #expect(requester.log.elements.first?.url.contains("info=subscription_count%2Ccache") == true)
        #expect(try await api.channel("cache-a") == .init(isOccupied: true))
    }

    @Test("the library reads users, even if a server writes their ids as numbers")
    func users() async throws {
        let (api, _) = try OfflineAPI.make(answers: [
            .answer(200, #"{"users":[{"id":"a"},{"id":7}]}"#), .answer(200, "{}"),
        ])
        #expect(try await api.users(on: "presence-a") == ["a", "7"])
        #expect(await failure { _ = try await api.users(on: "presence-a") }?.code == .unexpectedAnswer)
    }

    @Test("an answer that is not UTF-8 is an error only for methods that read the answer")
    func notText() async throws {
        let (api, _) = try OfflineAPI.make(answers: [.success(HTTPResponse(status: 200, body: [0xFF, 0xFE]))])
        #expect(try await api.trigger(Self.event, on: "a").isEmpty)
        #expect(await failure { _ = try await api.channel("a") }?.code == .unexpectedAnswer)
    }

    @Test(
        "an accepted event causes no error, even if the answer is invalid",
        arguments: ["{}", "", "ok", #"{"ok":true}"#]
    )
    func accepted(body: String) async throws {
        let (api, _) = try OfflineAPI.make(answers: [.answer(202, body)])
        #expect(try await api.trigger(Self.event, on: "a").isEmpty)
        #expect(try await api.trigger([.init(Self.event, on: "a")]) == [.init()])
    }
}
