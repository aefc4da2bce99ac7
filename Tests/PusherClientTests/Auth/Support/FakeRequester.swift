import PusherClient
import RealtimeHTTP
import TestSupport

/// A requester that records valid requests and returns the test's answers.
final class FakeRequester: HTTPRequester {
    typealias Answer = @Sendable (HTTPRequest) async throws -> HTTPResponse

    let requests = Log<HTTPRequest>()
    private let answer: Answer

    init(_ answer: @escaping Answer) { self.answer = answer }

    convenience init(_ status: Int, _ body: String, _ headers: HTTPFields = [:]) {
        self.init { _ in HTTPResponse(status: status, headers: headers, body: Array(body.utf8)) }
    }

    /// Creates a requester that answers every request with the same signature.
    convenience init() { self.init(200, #"{"auth":"key:signature"}"#) }

    func response(to request: HTTPRequest) async throws -> HTTPResponse {
        try request.validate()
        requests.append(request)
        return try await answer(request)
    }

    func shutdown() {}

    /// The bodies of the recorded requests.
    var bodies: [String?] { requests.elements.map { $0.body.map { String(decoding: $0, as: UTF8.self) } } }

    /// Returns a client's context that uses this requester.
    func context(
        key: String = "key",
        userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)? = nil
    ) -> AuthorizationContext {
        AuthorizationContext(
            key: key,
            requester: self,
            userDataFetcher: userDataFetcher,
            timeout: .seconds(10),
            maximumResponseSize: 1_048_576
        )
    }
}

extension AuthMethod {
    /// Authorizes one channel on a connection, by default `1.1`.
    func authorize(
        _ channelName: String = "private-a",
        socketID: String = "1.1",
        in context: AuthorizationContext
    ) async -> Result<Authorization, AuthorizationError> {
        let results = await authorize([AuthorizationRequest(socketID: socketID, channelName: channelName)], in: context)
        guard results.count == 1, let result = results.first else {
            return .failure(AuthorizationError(.invalidResponse, "\(results.count) results for one request"))
        }
        return result
    }
}

extension Result where Success == Authorization, Failure == AuthorizationError {
    var value: Authorization? { try? get() }

    var error: AuthorizationError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
