package import Foundation
import RealtimeHTTP

extension EndpointAnswer {
    /// The longest body of a refusal that an error holds, in bytes. The number of characters would not limit it.
    package static let maximumBodySize = 10_000
    /// The longest `Retry-After` that is obeyed, in seconds.
    package static let maximumRetryDelay = 60

    func refusal(status: Int, body: String?, _ subject: AuthorizationSubject) -> AuthorizationError {
        var error = error(
            .refused,
            "Authorization of \(subject) refused: \(place) answered with status \(status)."
                + (Self.advice(status).map { " \($0)" } ?? ""),
            status: status
        )
        error.body = body.map { $0.prefix(fittingUTF8Bytes: Self.maximumBodySize) }
        error.recovery = recovery(status)
        return error
    }

    private func recovery(_ status: Int) -> AuthorizationError.Recovery {
        switch status {
        case 401, 403: canAskOnceMore ? .askOnceMore : .none
        case 408, 429, 500...599: .retry(after: Self.retryDelay(response.headers["Retry-After"], now: Date()))
        default: .none
        }
    }

    private static func advice(_ status: Int) -> String? {
        switch status {
        case 300..<400: "It redirects without a location."
        case 401: "The backend does not know the user. Check the headers."
        case 403: "The backend does not allow it."
        case 404: "Check the URL."
        case 405: "Check the HTTP method."
        case 419: "It requires a CSRF token. Send one in a header, or exempt the endpoint."
        default: nil
        }
    }

    /// Seconds or a date; zero for anything else.
    package static func retryDelay(_ text: String?, now: Date) -> Duration {
        RetryAfter.delay(text, now: now, maximum: maximumRetryDelay)
    }
}
