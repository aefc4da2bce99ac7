import Foundation
import Logging
import PusherEncryption
import PusherProtocol
import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives

/// A sender that signs requests, sends them, and retries if a retry is safe.
struct RequestSender: Sendable {
    struct Request: Sendable {
        var method: String
        /// The rest of the path after `/apps/{id}`, with a slash at its start, percent-encoded.
        var path: String
        var parameters: [String: String] = [:]
        var body = ""

        /// Whether sending the request twice is safe.
        var isRepeatable: Bool { method == "GET" }
    }

    let base: String
    let applicationPath: String
    let signer: ApplicationSigner
    let options: PusherServerAPI.Options
    let requester: any HTTPRequester
    let unixTime: @Sendable () -> Int

    /// The maximum size of an answer, in bytes. The limit is high because a channel can have many users.
    private static let maximumAnswerSize = 16 << 20
    /// The limit for the wait in `Retry-After`, in seconds. The library shortens a longer wait.
    private static let maximumRetryAfter = 60

    /// The failure of one try.
    private struct Failure: Error {
        var error: PusherServerAPIError
        var mayBeTriedAgain: Bool
        var minimumDelay = Duration.zero
    }

    /// Sends a request, and returns the body of an answer with a status of 200 to 299.
    func send(_ request: Request) async throws -> String {
        let start = ContinuousClock.now
        var retryCount = 0
        while true {
            let failure: Failure
            switch try await attempt(request, timeout: options.timeout - (.now - start)) {
            case .success(let text): return text
            case .failure(let failed): failure = failed
            }
            let elapsed = ContinuousClock.now - start
            guard failure.mayBeTriedAgain, let delay = delay(retryCount, elapsed, failure),
                elapsed + delay < options.timeout
            else { throw failure.error }
            retryCount += 1
            options.logger.debug(
                "The request failed, and the library retries it.",
                metadata: [
                    "pusher.path": "\(applicationPath)\(request.path)", "pusher.error": "\(failure.error)",
                    "pusher.delay": "\(delay)",
                ]
            )
            try await Task.sleep(for: delay)
        }
    }

    private func delay(_ retryCount: Int, _ elapsed: Duration, _ failure: Failure) -> Duration? {
        let context = RetryContext(
            retryCount: retryCount,
            elapsed: elapsed,
            reason: failure.error,
            minimumDelay: failure.minimumDelay,
            random: .random(in: 0..<1)
        )
        return options.retryPolicy.delay(for: context).map { max($0, failure.minimumDelay) }
    }

    /// - Throws: `CancellationError` if the task was cancelled.
    private func attempt(_ request: Request, timeout: Duration) async throws -> Result<String, Failure> {
        let path = applicationPath + request.path
        let body = Array(request.body.utf8)
        // Sign again for each try, because signatures expire.
        let query = signer.query(
            method: request.method,
            path: path,
            parameters: request.parameters,
            body: body,
            timestamp: unixTime()
        )
        var headers: HTTPFields = ["Accept": "application/json"]
        if !body.isEmpty { headers.set("Content-Type", "application/json") }
        let message = HTTPRequest(
            url: "\(base)\(path)?\(query)",
            method: request.method,
            headers: headers,
            body: body.isEmpty ? nil : body,
            timeout: timeout,
            maximumResponseSize: Self.maximumAnswerSize,
            mayBecomeGET: false
        )
        do {
            let response = try await requester.response(to: message)
            options.logger.debug(
                "The server answered a request.",
                metadata: [
                    "pusher.method": "\(request.method)", "pusher.path": "\(path)",
                    "pusher.status": "\(response.status)",
                ]
            )
            return read(response, to: request)
        } catch let error as HTTPRequestError {
            return .failure(failure(error, of: request))
        }
    }

    // MARK: Answers

    private func read(_ response: HTTPResponse, to request: Request) -> Result<String, Failure> {
        // The server has accepted the request, so a body that is not UTF-8 is not an error here. Callers that need the
        // body check whether it is a JSON object.
        var status = response.status
        if (200..<300).contains(status) {
            let text = String(decoding: response.body, as: UTF8.self)
            guard let refusal = Self.refusal(inAnswer: text) else { return .success(text) }
            status = refusal
        }
        let (code, advice) = Self.meaning(of: status)
        let error = PusherServerAPIError(
            code,
            "\(subject(request)) failed: the server answered \(status)\(Self.words(of: response)). \(advice)",
            httpStatus: status
        )
        let isTransient = [408, 429, 500, 502, 503, 504].contains(status)
        return .failure(
            Failure(
                error: error,
                mayBeTriedAgain: status == 429 || (isTransient && request.isRepeatable),
                minimumDelay: RetryAfter.delay(
                    response.headers["Retry-After"],
                    now: Date(),
                    maximum: Self.maximumRetryAfter
                )
            )
        )
    }

    /// Returns the status in the body of a refusal that soketi sends with status 200: `{"error": …, "code": 401}`.
    private static func refusal(inAnswer text: String) -> Int? {
        guard text.utf8.count <= maximumRefusalSize, let members = JSONMembers(parsing: text),
            members.value("error")?.string != nil
        else { return nil }
        return members.value("code")?.integer
    }

    /// The size of the longest body that can be a refusal, in bytes. Larger answers, such as a list of many users, need
    /// not be read twice.
    private static let maximumRefusalSize = 65_536

    private static func meaning(of status: Int) -> (PusherServerAPIError.Code, String) {
        switch status {
        case 400: (.badRequest, "The server's answer contains the reason.")
        case 401: (.unauthorized, "Check app id, key and secret, and this machine's clock.")
        case 403: (.forbidden, "Check whether the application is enabled, and within its quota.")
        case 404: (.notFound, "Check the app id, and the path of the endpoint.")
        case 413: (.tooLarge, "Send less data with one event.")
        case 429: (.tooManyRequests, "Send fewer requests.")
        case 500...599: (.serverFailed, "Try again later, or check the server's log.")
        default: (.unexpectedAnswer, "Check host, port and path of the endpoint.")
        }
    }

    /// Returns the error message in a response, unless the body is an HTML page.
    private static func words(of response: HTTPResponse) -> String {
        let body = String(decoding: response.body.prefix(2_000), as: UTF8.self)
        let value = JSONValue(parsing: body)
        let text = value?["error"]?.string ?? value?["message"]?.string ?? body
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard !line.isEmpty, !line.hasPrefix("<") else { return "" }
        return " (\(withoutSignatures(line).prefix(fittingUTF8Bytes: 300)))"
    }

    /// Removes signatures from a string. Some servers' messages contain the expected or the received signature.
    static func withoutSignatures(_ text: String) -> String {
        var result = ""
        for part in text.split(omittingEmptySubsequences: false, whereSeparator: { !$0.isHexDigit }) {
            // Keep the character that separates this part from the previous part.
            if part.startIndex > text.startIndex { result.append(text[text.index(before: part.startIndex)]) }
            result += part.utf8.count >= 64 ? "…" : part
        }
        return result
    }

    // MARK: No answer

    private func failure(_ error: HTTPRequestError, of request: Request) -> Failure {
        let tls = error.cause as? TLSFailure
        let (code, advice): (PusherServerAPIError.Code, String) =
            switch error.kind {
            case .invalidRequest: (.invalidOption, "Change the endpoint or the options.")
            case .pinMismatch: (.pinMismatch, "If the server has a new key, add its pin.")
            case .timedOut: (.timedOut, "Check host and port, and whether the server runs.")
            case .failed where tls?.code == .notTLS: (.tlsFailed, "Use the server without TLS, or another port.")
            case .failed where tls != nil: (.tlsFailed, "Check the server's certificate and the trusted certificates.")
            case .failed where error.isUnsent: (.connectionFailed, "Check host and port, and whether the server runs.")
            // The server has answered on that port before, so it does not expect TLS.
            case .failed where error.isOfKeptConnection: (.connectionFailed, "Check the server's log.")
            case .failed:
                (
                    .connectionFailed,
                    base.hasPrefix("https")
                        ? "Check the server's log." : "Check whether the server expects TLS on that port."
                )
            case .redirectRefused: (.unexpectedAnswer, "Use the address that the server redirects to.")
            case .shutDown: (.shutDown, "Do not make requests after shutdown().")
            }
        return Failure(
            error: PusherServerAPIError(
                code,
                "\(subject(request)) failed: \(error.message). \(advice)",
                cause: tls ?? error.cause
            ),
            mayBeTriedAgain: error.kind == .failed && tls == nil && (request.isRepeatable || error.isUnsent)
        )
    }

    private func subject(_ request: Request) -> String { "\(request.method) \(base)\(applicationPath)\(request.path)" }
}

extension PusherServerAPIError {
    static func unexpected(_ reason: String, from base: String) -> Self {
        PusherServerAPIError(
            .unexpectedAnswer,
            "The answer of \(base) cannot be read: \(reason). Check whether this is the address of a Pusher server."
        )
    }
}
