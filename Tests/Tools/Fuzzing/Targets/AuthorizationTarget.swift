import PusherClient
import PusherProtocol
import RealtimeHTTP
import TestSupport

/// Checks how the client reads an authorization endpoint's answer. The result is an authorization within the limits, or
/// an error. The error also stays within limits, and contains no secret.
///
/// Input: a byte for the subject, two bytes for the status, and the body. In the body, `{pad}` stands for 1,000 bytes.
/// `{secret}` stands for a secret that no error may contain.
enum AuthorizationTarget {
    /// A part of every secret.
    private static let mark = "hush-hush"
    private static let url = "https://me:\(mark)@server.test/auth?token=\(mark)#\(mark)"
    private static let names = ["private-a", "presence-b", "private-encrypted-c"]
    private static let headers: HTTPFields = [
        "Content-Type": "application/json", "Set-Cookie": mark, "set-cookie2": mark, "AUTHORIZATION": mark,
        "Authentication-Info": mark, "Location": "https://server.test/\(mark)", "Refresh": "5; url=/\(mark)",
        "X-CSRF-Token": mark, "X-Xsrf-Token": mark,
    ]

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let kind = reader.byte()
        let status = Int(reader.byte()) << 8 | Int(reader.byte())
        let response = HTTPResponse(
            status: kind & 0x80 == 0 ? 200 : status,
            headers: headers,
            body: reader.remaining().padded.replacing("{secret}".utf8, with: mark.utf8),
            isCut: kind & 0x40 != 0
        )
        let answer = EndpointAnswer(response: response, url: url, canAskOnceMore: kind & 0x20 != 0)
        switch kind % 4 {
        case 0: check(Result { try answer.authorization(of: .user) }, of: response, isUser: true)
        case 1: check(Result { try answer.authorization(of: .channel("private-a")) }, of: response)
        default:
            switch Result(catching: { try answer.authorizations(ofChannels: names) }) {
            case .success(let results):
                require(results.count == names.count, "\(results.count) answers to \(names.count) questions")
                for (name, result) in zip(names, results) {
                    check(result.mapError { $0 as any Error }, of: response, inBatch: name)
                }
            case .failure(let error): check(.failure(error), of: response)
            }
        }
    }

    private static func check(
        _ result: Result<Authorization, any Error>,
        of response: HTTPResponse,
        isUser: Bool = false,
        inBatch name: String? = nil
    ) {
        switch result {
        case .success(let authorization):
            require(
                (200..<300).contains(response.status) && !response.isCut,
                "the client treats status \(response.status) as a success"
            )
            require(!authorization.auth.isEmpty, "the client accepts an empty signature")
            require(
                authorization.auth.utf8.count <= EndpointAnswer.maximumAuthSize,
                "the client accepts a signature that is too long"
            )
            require(
                (authorization.data ?? "").utf8.count <= EndpointAnswer.maximumDataSize,
                "the client accepts data that is too long"
            )
            require(
                (authorization.sharedSecret ?? "").utf8.count <= EndpointAnswer.maximumAuthSize,
                "the client accepts a shared secret that is too long"
            )
            require(!isUser || authorization.data != nil, "the client accepts a user without data")
            checkSecrecy(of: authorization)
        case .failure(let error):
            guard let error = error as? AuthorizationError else { return require(false, "the client throws \(error)") }
            require(
                !error.message.isEmpty && error.message.utf8.count < 1_000,
                "the error's message is empty or too long: \(error.message)"
            )
            require(
                (error.body ?? "").utf8.count <= EndpointAnswer.maximumBodySize,
                "the error has a body that is too long"
            )
            if case .retry(let delay) = error.recovery {
                require(
                    delay >= .zero && delay <= .seconds(EndpointAnswer.maximumRetryDelay),
                    "the retry delay is \(delay)"
                )
            }
            checkSecrecy(of: error, response, inBatch: name)
        }
    }

    /// Checks that an error shows no secret. The error for a refusal shows the body on purpose. The error for an unusable
    /// answer shows the body without words that are long enough for a signature or a key.
    private static func checkSecrecy(of error: AuthorizationError, _ response: HTTPResponse, inBatch name: String?) {
        var bare = error
        bare.body = nil
        checkSecrecy(of: bare)
        guard let body = error.body else { return }
        if error.code == .invalidResponse {
            let words = body.split { !($0.isASCII && ($0.isLetter || $0.isNumber || "+=_-.:".contains($0))) }
            return require(words.allSatisfy { $0.utf8.count < 32 }, "the error may show a secret: \(body)")
        }
        require(error.code == .refused, "an error of another kind shows the body \(body)")
        guard (200..<300).contains(response.status) else { return }
        let refusal = name.flatMap { JSONValue(parsing: response.body.text)?[$0]?["data"] }
        let own = refusal.map { $0.string ?? $0.jsonText } ?? ""
        require(own.hasPrefix(body), "the error shows the answer for another channel: \(body)")
    }

    private static func checkSecrecy(of value: Any) {
        for form in PrintedForms.of(value) { require(!form.contains(mark), "the error shows a secret: \(form)") }
    }
}
