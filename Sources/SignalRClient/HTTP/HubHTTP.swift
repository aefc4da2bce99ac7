import NIOConcurrencyHelpers
import RealtimeHTTP
import SignalRCore

/// A response of the server.
struct HubResponse: Sendable {
    var status: Int
    /// The minimum wait before another attempt, if the status is a refusal.
    var retryAfter: Duration
    var body: [UInt8]
}

/// Sends the requests of one attempt to connect, and of the resulting transport. The requests contain the app's
/// headers, the token, and the server's cookies.
final class HubHTTP: Sendable {
    private struct State {
        var token: String?
        var cookies: [HTTPOrigin: [String: String]] = [:]
        /// Whether the token comes from a redirect. After a redirect, the client must not send the app's token to the
        /// new URL.
        var isRedirected = false
    }

    private let options: HttpConnectionOptions
    private let client: any HttpClient
    /// The origin of the hub's URL. Other origins get fewer header fields.
    private let origin: HTTPOrigin?
    private let state = NIOLockedValueBox(State())

    /// - Parameter hub: The hub's URL, from the app.
    init(_ options: HttpConnectionOptions, _ client: any HttpClient, hub: String) {
        self.options = options
        self.client = client
        origin = HTTPOrigin(hub)
    }

    // MARK: The token

    /// Gets another token from the app. Does nothing after a redirect, and if the app provides no tokens.
    func renewToken() async throws {
        let isRedirected = state.withLockedValue { $0.isRedirected }
        guard !isRedirected, let factory = options.accessTokenFactory else { return }
        let token = try await Self.token(factory)
        state.withLockedValue { $0.token = token }
    }

    /// Gets a token from the app. An empty token is none.
    private static func token(_ factory: @Sendable () async throws -> String?) async throws -> String? {
        do {
            let token = try await factory()
            return token?.isEmpty == true ? nil : token
        } catch let error as CancellationError {
            throw error
        } catch {
            throw SignalRClientError(
                .accessTokenFailed,
                """
                Access token not available: the accessTokenFactory threw an error of the type '\(type(of: error))'. Only \
                the error's cause contains its text, which may be secret.
                """,
                cause: error
            )
        }
    }

    /// Handles a redirect. All later requests use the redirect's token.
    func redirected(token: String?) {
        state.withLockedValue { state in
            state.token = token
            state.isRedirected = true
        }
    }

    /// Whether the app can get another token for this connection. After a redirect, the server's own token counts.
    var canRenewToken: Bool { options.accessTokenFactory != nil && !state.withLockedValue { $0.isRedirected } }

    /// Gets another token from the app, and sends it to the server, which then uses it for the open connection. All later
    /// requests use the new token.
    ///
    /// - Parameters:
    ///   - url: The hub's URL.
    ///   - connectionToken: The secret that identifies the connection.
    /// - Returns: The time until the new token expires; `nil` if the server names none.
    func refreshAuthentication(_ url: String, connectionToken: String) async throws -> Duration? {
        guard canRenewToken, let factory = options.accessTokenFactory else { return nil }
        let token = try await Self.token(factory)
        // The old token is about to expire, so a request without an answer must leave time for another try.
        let timeout = min(options.timeout ?? 10, 10)
        var request = makeRequest(.POST, ConnectionURL.refresh(url), body: nil, timeout: timeout, token: token)
        request.headers[AuthenticationRefresh.tokenField] = connectionToken
        request.maximumResponseSize = HttpConnector.minimumAnswerSize
        let (content, response) = try await client.send(request: request)
        guard response.statusCode == 200 else {
            throw AuthenticationRefresh.refusal(status: response.statusCode, body: content.bytes)
        }
        keep(response.cookies, of: url)
        state.withLockedValue { $0.token = token }
        return AuthenticationRefresh.lifetime(content.bytes)
    }

    private var token: String? { state.withLockedValue { $0.token } }

    /// Returns the header fields of a request.
    func headers(for url: String) -> [String: String] { headers(for: url, token: token) }

    private func headers(for url: String, token: String?) -> [String: String] {
        let origin = HTTPOrigin(url)
        let cookies = state.withLockedValue { state in origin.flatMap { state.cookies[$0] } ?? [:] }
        var headers = ["User-Agent": "pusher-client-swift SignalRClient", "X-Requested-With": "XMLHttpRequest"]
        if let token { headers["Authorization"] = "Bearer \(token)" }
        if !cookies.isEmpty {
            headers["Cookie"] = cookies.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "; ")
        }
        for (name, value) in options.headers ?? [:] {
            guard
                origin == self.origin
                    || HTTPFields.mayLeaveOrigin(name, allowed: options.headersForOtherOrigins)
            else { continue }
            // The app's field replaces the client's field of the same name, regardless of case.
            for own in headers.keys where own.lowercased() == name.lowercased() { headers[own] = nil }
            headers[name] = value
        }
        return headers
    }

    /// Returns the URL, with the token if the options require it.
    func url(_ url: String) -> String { self.url(url, token: token) }

    private func url(_ url: String, token: String?) -> String {
        guard options.sendsAccessTokenInQuery, let token else { return url }
        return ConnectionURL.adding("access_token", token, to: url)
    }

    // MARK: Requests

    /// Sends a request. If the server answers with 401, the client gets another token from the app, and sends the
    /// request once more. After a redirect, the client does not send the request again.
    func send(
        _ method: HttpMethod,
        _ url: String,
        body: (bytes: [UInt8], isBinary: Bool)? = nil,
        timeout: TimeInterval? = nil,
        maximumResponseSize: Int? = nil
    ) async throws -> HubResponse {
        func sendOnce() async throws -> HubResponse {
            var request = makeRequest(method, url, body: body, timeout: timeout, token: token)
            request.maximumResponseSize = maximumResponseSize
            let (content, response) = try await client.send(request: request)
            keep(response.cookies, of: url)
            return HubResponse(status: response.statusCode, retryAfter: response.retryAfter, body: content.bytes)
        }
        let response = try await sendOnce()
        guard response.status == 401, canRenewToken else { return response }
        try await renewToken()
        return try await sendOnce()
    }

    private func makeRequest(
        _ method: HttpMethod,
        _ url: String,
        body: (bytes: [UInt8], isBinary: Bool)?,
        timeout: TimeInterval?,
        token: String?
    ) -> HttpRequest {
        var headers = headers(for: url, token: token)
        if let body {
            headers["Content-Type"] = body.isBinary ? "application/octet-stream" : "text/plain;charset=UTF-8"
        }
        return HttpRequest(
            method: method,
            url: self.url(url, token: token),
            content: body.map { body in
                body.isBinary ? .data(Data(body.bytes)) : .string(String(decoding: body.bytes, as: UTF8.self))
            },
            responseType: .binary,
            headers: headers,
            timeout: timeout ?? options.timeout
        )
    }

    // MARK: Cookies

    private func keep(_ cookies: [String], of url: String) {
        guard !cookies.isEmpty, let origin = HTTPOrigin(url) else { return }
        let pairs = cookies.prefix(50).compactMap { cookie -> (String, String)? in
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard pair.count == 2, pair[0].utf8.count + pair[1].utf8.count <= 4096 else { return nil }
            return (pair[0], pair[1])
        }
        state.withLockedValue { state in
            for (name, value) in pairs {
                // Without this limit, a server could fill the memory with cookies.
                guard state.cookies[origin, default: [:]].count < 50 else { continue }
                state.cookies[origin, default: [:]][name] = value
            }
        }
    }
}
