package import RealtimeHTTP

/// The parts of the client that the strategies need.
package struct AuthorizationContext: Sendable {
    /// The app key in its original case.
    package var key: String
    private let requester: any HTTPRequester
    /// A closure that returns the user on presence channels, if the client makes the signatures.
    package var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)?
    /// The time limit of one request.
    package var timeout: Duration
    /// The limit of an answer's body, in bytes.
    package var maximumResponseSize: Int

    package init(
        key: String,
        requester: any HTTPRequester,
        userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)? = nil,
        timeout: Duration,
        maximumResponseSize: Int
    ) {
        self.key = key
        self.requester = requester
        self.userDataFetcher = userDataFetcher
        self.timeout = timeout
        self.maximumResponseSize = maximumResponseSize
    }
}

extension AuthorizationContext {
    /// Sends a request of a strategy and returns the answer.
    func response(
        to request: HTTPRequest,
        for subject: AuthorizationSubject
    ) async throws(AuthorizationError) -> HTTPResponse {
        do {
            return try await requester.response(to: request)
        } catch {
            throw .notAnswered(error, url: request.url, subject)
        }
    }
}

/// The subject of an error message.
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
    /// Makes the error for a wait that was cancelled.
    static func cancelled(_ subject: AuthorizationSubject) -> AuthorizationError {
        AuthorizationError(
            .requestFailed,
            "Authorization of \(subject) cancelled: the client does not need the answer any more.",
            cause: CancellationError()
        )
    }

    /// Makes the error for a failure in the app's code. The message does not contain the description of the app's
    /// error, because the description may contain secrets. The client cannot know whether such a failure passes, so it
    /// tries again. Code that knows throws an ``AuthorizationError``.
    static func thrown(_ error: any Error, by who: String, _ subject: AuthorizationSubject) -> AuthorizationError {
        if let error = error as? AuthorizationError { return error }
        return AuthorizationError(
            .authorizerFailed,
            """
            Authorization of \(subject) failed: \(who) threw an error of the type '\(type(of: error))'. Only the error's \
            cause contains its text, which may be secret.
            """,
            recovery: .retry(after: .zero),
            cause: error
        )
    }

    /// Makes the error for a request without an answer.
    static func notAnswered(_ error: any Error, url: String, _ subject: AuthorizationSubject) -> AuthorizationError {
        let answerer = (error as? HTTPRequestError)?.url
        let place = HTTPRequest.printable(url: answerer, askedFor: url)
        switch error {
        case let error as AuthorizationError: return error
        case is CancellationError: return .cancelled(subject)
        case let error as HTTPRequestError where error.kind == .invalidRequest:
            return .invalidRequest(error.message, subject, cause: error.cause)
        case let error as HTTPRequestError:
            let canHelp = [.timedOut, .failed, .pinMismatch].contains(error.kind)
            return AuthorizationError(
                error.kind == .redirectRefused ? .redirectRefused : .requestFailed,
                "Authorization of \(subject) failed: \(place) gave no answer, because \(error.message).",
                address: HTTPRequest.printable(url: answerer ?? url),
                recovery: canHelp ? .retry(after: .zero) : .none,
                cause: error.cause
            )
        default:
            return AuthorizationError(
                .requestFailed,
                "Authorization of \(subject) failed: \(place) gave no answer.",
                address: HTTPRequest.printable(url: url),
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
        AuthorizationError(.invalidRequest, "Authorization of \(subject) failed: \(why).", cause: cause)
    }
}
