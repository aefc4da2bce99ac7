package import RealtimeHTTP

/// The parts of the client that the strategies need.
package struct AuthorizationContext: Sendable {
    /// The app key, its case kept.
    package var key: String
    private let requester: any HTTPRequester
    /// Nil if no key of the server is pinned.
    private let pinnedHost: PinnedHost?
    /// The user on presence channels, if the signatures are made here.
    package var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)?
    /// The time limit of one request.
    package var timeout: Duration
    /// The limit of an answer's body, in bytes.
    package var maximumResponseSize: Int

    package init(
        key: String,
        requester: any HTTPRequester,
        pinnedHost: PinnedHost? = nil,
        userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)? = nil,
        timeout: Duration,
        maximumResponseSize: Int
    ) {
        self.key = key
        self.requester = requester
        self.pinnedHost = pinnedHost
        self.userDataFetcher = userDataFetcher
        self.timeout = timeout
        self.maximumResponseSize = maximumResponseSize
    }
}

extension AuthorizationContext {
    /// The answer to a request of a strategy, which is refused if it goes to the host whose key is pinned.
    func response(
        to request: HTTPRequest,
        for subject: AuthorizationSubject
    ) async throws(AuthorizationError) -> HTTPResponse {
        if let problem = pinnedHost?.problem(withRequestsTo: request.url) { throw .invalidRequest(problem, subject) }
        do {
            return try await requester.response(to: request)
        } catch {
            throw .notAnswered(error, url: request.url, subject)
        }
    }
}

/// Whom or what a message is about.
package enum AuthorizationSubject: Hashable, Sendable, CustomStringConvertible {
    case channel(String)
    case channels(Int)
    case user

    package var description: String {
        switch self {
        case .channel(let name): "channel '\(name)'"
        case .channels(let count): "\(count) channels"
        case .user: "the user"
        }
    }
}

extension AuthorizationError {
    /// For a wait that nobody needs any more.
    static func cancelled(_ subject: AuthorizationSubject) -> AuthorizationError {
        AuthorizationError(
            .requestFailed,
            "the authorization of \(subject) was cancelled before there was an answer",
            cause: CancellationError()
        )
    }

    /// For what code of the user threw. Its text is not repeated: nobody knows what is in it.
    static func thrown(_ error: any Error, by who: String, _ subject: AuthorizationSubject) -> AuthorizationError {
        if let error = error as? AuthorizationError { return error }
        return AuthorizationError(
            .authorizerFailed,
            "\(who) threw an error of type \(type(of: error)) for \(subject); it is the cause of this one",
            cause: error
        )
    }

    /// For a request that brought no answer.
    static func notAnswered(_ error: any Error, url: String, _ subject: AuthorizationSubject) -> AuthorizationError {
        let answerer = (error as? HTTPRequestError)?.url
        let place = HTTPRequest.printable(url: answerer, askedFor: url)
        switch error {
        case let error as AuthorizationError: return error
        case is CancellationError: return .cancelled(subject)
        case let error as HTTPRequestError where error.kind == .invalidRequest:
            return .invalidRequest(error.message, subject, cause: error.cause)
        case let error as HTTPRequestError:
            let canHelp = error.kind == .timedOut || error.kind == .failed
            return AuthorizationError(
                error.kind == .redirectRefused ? .redirectRefused : .requestFailed,
                "\(place) gave no answer for \(subject): \(error.message)",
                url: HTTPRequest.printable(url: answerer ?? url),
                recovery: canHelp ? .retry(after: .zero) : .none,
                cause: error.cause
            )
        default:
            return AuthorizationError(
                .requestFailed,
                "\(place) gave no answer for \(subject): the request failed",
                url: HTTPRequest.printable(url: url),
                recovery: .retry(after: .zero),
                cause: error
            )
        }
    }

    static func invalidRequest(
        _ why: String,
        _ subject: AuthorizationSubject,
        cause: (any Error)? = nil
    ) -> AuthorizationError {
        AuthorizationError(.invalidRequest, "no authorization of \(subject) can be asked for: \(why)", cause: cause)
    }
}
