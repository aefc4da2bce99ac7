package import Foundation
import RealtimeHTTP

extension EndpointAnswer {
    /// The most bytes of a refusal that an error holds: one character can be as long as the whole.
    package static let maximumBodySize = 10_000
    /// The longest that a `Retry-After` is obeyed.
    package static let maximumRetryDelay = 60

    func refusal(status: Int, body: String?, _ subject: AuthorizationSubject) -> AuthorizationError {
        var error = error(
            .refused,
            "\(place) answered with status \(status) for \(subject)"
                + (Self.advice(status).map { "; \($0)" } ?? ""),
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
        case 300..<400: "it names no place to go on to"
        case 401: "the backend does not know who asks: are the headers right?"
        case 403: "the backend does not allow it"
        case 404: "is the URL right?"
        case 405: "is the method right?"
        case 419: "it asks for a CSRF token: send one in a header, or exempt the endpoint"
        default: nil
        }
    }

    /// Seconds or a date; zero for anything else.
    package static func retryDelay(_ text: String?, now: Date) -> Duration {
        RetryAfter.delay(text, now: now, maximum: maximumRetryDelay)
    }
}
