import PusherEncryption
import PusherProtocol

/// The reason why the server refuses a request to the REST API or to an authorization endpoint, or a request of an HTTP
/// transport.
struct RESTFailure: Error, Hashable, Sendable {
    let status: Int
    let message: String

    static func badRequest(_ message: String) -> Self { Self(status: 400, message: message) }
    static func unauthorized(_ message: String) -> Self { Self(status: 401, message: message) }
    static func notFound(_ message: String) -> Self { Self(status: 404, message: message) }
    static func tooLarge(_ message: String) -> Self { Self(status: 413, message: message) }

    static func bodyTooLarge(limit: Int) -> Self {
        tooLarge("the body exceeds the allowed maximum (\(limit) bytes)")
    }

    var response: RESTResponse { RESTResponse(status: status, body: message) }
}

/// The checks of signed requests to the REST API.
enum RESTAuthentication {
    /// The maximum difference between the time in a request and the server's time, in seconds.
    static let maximumClockDifference = 600

    /// Checks the head of a request.
    static func checkHead(
        _ request: PusherTestServer.Request,
        application: PusherTestServer.Application,
        now: Int
    ) throws(RESTFailure) {
        let parameters = request.parameters
        guard let key = parameters["auth_key"] else { throw .unauthorized("auth_key is missing") }
        guard key == application.key else { throw .unauthorized("auth_key \(key) is not the app's key") }
        guard parameters["auth_version"] == "1.0" else { throw .unauthorized("auth_version must be 1.0") }
        guard let timestamp = parameters["auth_timestamp"].flatMap({ Int($0) }) else {
            throw .unauthorized("auth_timestamp must be the time in whole seconds since 1970")
        }
        let (difference, overflow) = now.subtractingReportingOverflow(timestamp)
        guard !overflow, difference.magnitude <= maximumClockDifference else {
            throw .unauthorized("auth_timestamp \(timestamp) is not within \(maximumClockDifference) s of \(now)")
        }
        guard let signature = parameters["auth_signature"] else { throw .unauthorized("auth_signature is missing") }
        let signed = request.parameterList.filter { $0.name != "auth_signature" }
        let text = StringToSign.restRequest(method: request.method, path: request.path, parameters: signed)
        guard HMACSHA256.isValid(signature, for: text, secret: application.secret) else {
            throw .unauthorized("auth_signature is not the signature of: \(text)")
        }
    }

    /// Checks the body against the digest in the head.
    static func checkBody(_ request: PusherTestServer.Request) throws(RESTFailure) {
        guard !request.body.isEmpty else { return }
        guard let digest = request.parameters["body_md5"] else { throw .unauthorized("body_md5 is missing") }
        guard digest.lowercased() == ApplicationSigner.digest(ofBody: request.body) else {
            throw .unauthorized("body_md5 is not the MD5 of the body")
        }
    }
}
