import PusherTestServer
import RealtimeHTTP
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Batches of authorizations", .limited)
struct BatchTests {
    static func requests(_ names: [String], socketID: String = "1.1") -> [AuthorizationRequest] {
        names.map { AuthorizationRequest(socketID: socketID, channelName: $0) }
    }

    static func batching(_ size: Int = 100) -> AuthMethod {
        .endpoint(
            AuthEndpoint(
                "https://example.com/auth",
                isBatching: true,
                maximumBatchSize: size,
                headersProvider: { request in ["X-Channels": request.channelNames.joined(separator: " ")] }
            )
        )
    }

    @Test("only methods that support batches accept several channels in one request")
    func maximumSizes() {
        #expect(AuthMethodTests.methods.allSatisfy { $0.maximumBatchSize == 1 })
        #expect(Self.batching().maximumBatchSize == 100)
        #expect(Self.batching(7).maximumBatchSize == 7)
        #expect(Self.batching(0).maximumBatchSize == 1)
        #expect(AuthMethod.batchAuthorizer(maximumBatchSize: 3) { _ in [:] }.maximumBatchSize == 3)
        #expect(AuthMethod.batchAuthorizer(maximumBatchSize: -3) { _ in [:] }.maximumBatchSize == 1)
        #expect(AuthMethod.batchAuthorizer { _ in [:] }.maximumBatchSize == 100)
    }

    @Test("one request covers all channels, and each gets its own answer")
    func endpoint() async {
        let requester = FakeRequester(
            200,
            #"""
            {"private-a":{"status":200,"data":{"auth":"k:a"}},
             "presence-b":{"status":201,"data":{"auth":"k:b","channel_data":"{\"user_id\":1}"}},
             "private-refused":{"status":403,"data":{"error":"not yours"}},
             "private-busy":{"status":503,"data":"later"},
             "private-bad":{"status":200,"data":{"auth":1}},
             "private-no-data":{"status":200}, "private-no-status":{"data":{"auth":"k:s"}}, "private-string":"x"}
            """#
        )
        let names = [
            "private-a", "presence-b", "private-refused", "private-busy", "private-bad", "private-no-data",
            "private-no-status", "private-string", "private-missing",
        ]
        let results = await Self.batching().authorize(Self.requests(names), in: requester.context())
        #expect(results.count == names.count)
        let body = "socket_id=1.1" + names.map { "&channel_name%5B%5D=\($0)" }.joined()
        #expect(requester.bodies == [body])
        #expect(requester.requests.elements.first?.headers["X-Channels"] == names.joined(separator: " "))
        #expect(results[0].value == Authorization(auth: "k:a"))
        #expect(results[1].value == Authorization(auth: "k:b", data: #"{"user_id":1}"#))
        #expect(results[2].error?.code == .refused)
        #expect(results[2].error?.httpStatus == 403)
        #expect(results[2].error?.body == #"{"error":"not yours"}"#)
        #expect(results[2].error?.recovery == .askOnceMore)
        #expect(results[3].error?.body == "later")
        #expect(results[3].error?.recovery == .retry(after: .zero))
        for (index, name) in names.enumerated().dropFirst(4) {
            #expect(results[index].error?.code == .invalidResponse)
            #expect(results[index].error?.message.contains("channel '\(name)'") == true)
        }
    }

    @Test("a batch with one channel has the form of a batch")
    func single() async {
        let requester = FakeRequester(200, #"{"private-a":{"status":200,"data":{"auth":"k:a"}}}"#)
        #expect(await Self.batching().authorize(in: requester.context()).value == Authorization(auth: "k:a"))
        #expect(requester.bodies == ["socket_id=1.1&channel_name%5B%5D=private-a"])
    }

    @Test(
        "all channels of a batch fail if the request gets no usable answer",
        arguments: [(500, ""), (200, "[]"), (200, "nothing")]
    )
    func allFail(status: Int, body: String) async {
        let requester = FakeRequester(status, body)
        let results = await Self.batching().authorize(
            Self.requests(["private-a", "private-b"]),
            in: requester.context()
        )
        #expect(results.map { $0.error?.httpStatus } == [status, status])
        #expect(results.allSatisfy { $0.error?.message.contains("2 channels") == true })
    }

    @Test("a batch never has more channels than its method allows", arguments: [(10, [5, 10, 10]), (1, [])])
    func split(maximumSize: Int, sizes: [Int]) async throws {
        let world = VirtualWorld()
        let endpoint = AuthEndpoint(VirtualWorld.authEndpoint, isBatching: true, maximumBatchSize: maximumSize)
        let pusher = world.makeClient(.virtual(authMethod: .endpoint(endpoint)))
        let channels = (1...25).map { pusher.subscribe("private-\($0)") }
        pusher.connect()
        await world.runUntil { channels.allSatisfy(\.subscribed) }
        let asked = world.server.authorizationRequests.map { $0.bodyText.split(separator: "&").count - 1 }
        #expect(asked.sorted() == (sizes.isEmpty ? channels.map { _ in 1 } : sizes))
    }

    @Test("a batch has no more channels than the method that gets it allows, even if the method has changed")
    func changedMethod() async {
        let world = VirtualWorld()
        let authorizer = ChangingAuthorizer()
        let pusher = world.makeClient(.virtual(authMethod: .authorizer(authorizer: authorizer)))
        let channels = (1...3).map { pusher.subscribe("private-\($0)") }
        pusher.connect()
        await world.runUntil { authorizer.counts.elements.count == channels.count }
        #expect(authorizer.counts.elements == [1, 1, 1])
    }

    @Test("the client calls a batch authorizer once for all channels of a batch")
    func batchAuthorizer() async {
        let directory = Directory()
        let names = ["private-a", "private-missing", "private-error", "private-own-error"]
        let results = await AuthMethod.batchAuthorizer(directory.authorize).authorize(
            Self.requests(names),
            in: FakeRequester().context()
        )
        #expect(directory.asked.elements == [names])
        #expect(results[0].value == Authorization(auth: "k:private-a"))
        #expect(results[1].error?.code == .authorizerFailed)
        #expect(results[1].error?.message.contains("channel 'private-missing' failed: the authorizer") == true)
        #expect(results[2].error?.code == .authorizerFailed)
        #expect(results[2].error?.cause is Directory.Failure)
        #expect(results[3].error == Directory.ownError)
    }

    @Test("all channels of a batch fail if the batch authorizer throws")
    func throwing() async {
        let results = await AuthMethod.batchAuthorizer(Directory().authorize).authorize(
            Self.requests(["private-a", "private-throw"]),
            in: FakeRequester().context()
        )
        #expect(results.allSatisfy { $0.error?.cause is Directory.Failure })
    }
}

private final class Directory: Sendable {
    struct Failure: Error {}

    static let ownError = AuthorizationError(.refused, "not yours", httpStatus: 403)
    let asked = Log<[String]>()

    func authorize(_ requests: [AuthorizationRequest]) async throws -> [String: Result<PusherAuth, any Error>] {
        asked.append(requests.map(\.channelName))
        var results: [String: Result<PusherAuth, any Error>] = [:]
        for request in requests {
            switch request.channelName {
            case "private-missing": break
            case "private-throw": throw Failure()
            case "private-error": results[request.channelName] = .failure(Failure())
            case "private-own-error": results[request.channelName] = .failure(Self.ownError)
            default: results[request.channelName] = .success(PusherAuth(auth: "k:\(request.channelName)"))
            }
        }
        return results
    }
}

/// An authorizer that allows batches only at the first question.
private final class ChangingAuthorizer: BuiltInAuthorizer {
    let counts = Log<Int>()
    private let questions = Log<Void>()

    var description: String { "changing" }

    var maximumBatchSize: Int {
        questions.append(())
        return questions.elements.count == 1 ? 100 : 1
    }

    func authorize(
        _ requests: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>] {
        counts.append(requests.count)
        return requests.map { _ in .failure(AuthorizationError(.refused, "not yours")) }
    }
}
