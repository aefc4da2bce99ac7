import ArgumentParser
import Foundation
import PusherProtocol
import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives

/// An authorization from a backend's answer or from the command line.
struct GivenAuthorization: Sendable {
    var auth: String
    /// The `channel_data` or `user_data`; nil if the authorization has neither.
    var data: String?
    var sharedSecret: String?
    /// The request that the backend has answered; nil if the authorization comes from the command line.
    var sent: String?
}

/// A client's request to a backend.
struct BackendQuestion {
    let url: String
    let channel: String?
    let socketID: String

    func answer(timeLimit: Duration) async throws -> GivenAuthorization {
        var form = "socket_id=\(FormEncoding.encode(socketID))"
        if let channel { form += "&channel_name=\(FormEncoding.encode(channel))" }
        let requester = PooledHTTPRequester(
            tls: TLSContextSource(TLSOptions()),
            proxies: ProxyRules(.environment),
            connectTimeout: timeLimit
        )
        defer { requester.shutdown() }
        let request = HTTPRequest(
            url: url,
            method: "POST",
            headers: ["Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"],
            body: Array(form.utf8),
            timeout: timeLimit,
            maximumResponseSize: 1 << 20
        )
        let place = HTTPRequest.printable(url: url)
        let response: HTTPResponse
        do {
            response = try await withProgress("Waiting for \(place)") { try await requester.response(to: request) }
        } catch let error as HTTPRequestError {
            throw StandardError.failure(
                "The request to \(place) failed: \(error.message). Check --auth-url, and whether your backend runs.",
                error.kind == .timedOut ? .noConnection : .failure
            )
        }
        let body = String(decoding: response.body, as: UTF8.self)
        guard response.status == 200 || response.status == 201 else {
            let line = body.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let shown = line.isEmpty || line.hasPrefix("<") ? "" : " (\(line.prefix(fittingUTF8Bytes: 200)))"
            throw StandardError.failure(
                """
                Your backend refused the request \(form) with status \(response.status)\(shown.escapingControls). \
                Does the backend need a session or a token that a client would send?
                """
            )
        }
        guard let value = JSONValue(parsing: body), let auth = value["auth"]?.string else {
            throw StandardError.failure(
                """
                The answer of \(place) has no auth: clients need a JSON object with auth, "KEY:SIGNATURE". Check --auth-url, \
                and whether the backend needs a session.
                """
            )
        }
        return GivenAuthorization(
            auth: auth,
            data: value[channel == nil ? "user_data" : "channel_data"]?.string,
            sharedSecret: value["shared_secret"]?.string,
            sent: "POST \(place)  \(form)"
        )
    }
}
