package import Foundation
import RealtimeHTTP
import RealtimeNetworking

extension EndpointAnswer {
    /// The maximum number of bytes of a refusal's body that an error keeps. A limit in characters would not limit the
    /// memory, because one character may have many bytes.
    package static let maximumBodySize = 10_000
    /// The maximum `Retry-After` that the client obeys, in seconds.
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
        case 408, 425, 429, 500...599: .retry(after: Self.retryDelay(response.headers["Retry-After"], now: Date()))
        default: .none
        }
    }

    private static func advice(_ status: Int) -> String? {
        switch status {
        case 300..<400: "The redirect has no location."
        case 401: "The backend does not know the user. Check the headers."
        case 403: "The backend does not allow the request."
        case 404: "Check the URL."
        case 405: "Check the HTTP method."
        case 419: "The backend requires a CSRF token. Send a token in a header, or exempt the endpoint."
        default: nil
        }
    }

    /// Reads a delay in seconds, or a date; returns zero for any other value.
    package static func retryDelay(_ text: String?, now: Date) -> Duration {
        RetryAfter.delay(text, now: now, maximum: maximumRetryDelay)
    }
}
