import PusherClient
import PusherProtocol

/// The answer of an authorization endpoint becomes an authorization within its limits, or an error within its own.
///
/// Input: a byte for the subject, two for the status, and the body.
enum AuthorizationTarget {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let kind = reader.byte()
        let status = Int(reader.byte()) << 8 | Int(reader.byte())
        let response = HTTPResponse(
            status: kind & 0x80 == 0 ? 200 : status,
            headers: ["Content-Type": "application/json"],
            body: reader.remaining(),
            isCut: kind & 0x40 != 0
        )
        let answer = EndpointAnswer(response: response, url: "https://server.test/auth?token=1", isAskedAnew: false)
        switch kind % 4 {
        case 0: check(Result { try answer.authorization(of: .user) }, of: response, isUser: true)
        case 1: check(Result { try answer.authorization(of: .channel("private-a")) }, of: response)
        default:
            let names = ["private-a", "presence-b", "private-encrypted-c"]
            switch Result(catching: { try answer.authorizations(ofChannels: names) }) {
            case .success(let results):
                require(results.count == names.count, "\(results.count) answers to \(names.count) questions")
                for result in results { check(result.mapError { $0 as any Error }, of: response) }
            case .failure(let error): check(.failure(error), of: response)
            }
        }
    }

    private static func check(
        _ result: Result<Authorization, any Error>,
        of response: HTTPResponse,
        isUser: Bool = false
    ) {
        switch result {
        case .success(let authorization):
            require(
                (200..<300).contains(response.status) && !response.isCut,
                "\(response.status) is taken for a success"
            )
            require(!authorization.auth.isEmpty, "an empty signature is taken")
            require(authorization.auth.utf8.count <= EndpointAnswer.maximumAuthSize, "a signature is too long")
            require((authorization.data ?? "").utf8.count <= EndpointAnswer.maximumDataSize, "data are too long")
            require((authorization.sharedSecret ?? "").utf8.count <= EndpointAnswer.maximumAuthSize, "a long secret")
            require(!isUser || authorization.data != nil, "a user without data")
            require("\(authorization)" == "Authorization(…)", "an authorization is printed")
        case .failure(let error):
            guard let error = error as? AuthorizationError else { return require(false, "\(error) is thrown") }
            require(!error.message.isEmpty && error.message.utf8.count < 1_000, "the error is \(error.message)")
            require(!error.message.contains("token=1"), "the error says what may be secret: \(error.message)")
            require((error.body ?? "").count <= EndpointAnswer.maximumBodyLength, "the error has a long body")
            if case .retry(let delay) = error.recovery {
                require(delay >= .zero && delay <= .seconds(EndpointAnswer.maximumRetryDelay), "a retry after \(delay)")
            }
        }
    }
}
