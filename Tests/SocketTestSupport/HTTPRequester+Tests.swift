package import RealtimeHTTP
package import RealtimeNetworking
import TestSupport

extension HTTPRequest {
    /// Creates a request with a timeout that exceeds the duration of every test.
    package static func to(
        _ url: String,
        method: String = "POST",
        headers: HTTPFields = [:],
        body: String? = "a=b",
        timeout: Duration = .seconds(3_600),
        maximumResponseSize: Int = 1_048_576
    ) -> HTTPRequest {
        HTTPRequest(
            url: url,
            method: method,
            headers: headers,
            body: body.map { Array($0.utf8) },
            timeout: timeout,
            maximumResponseSize: maximumResponseSize
        )
    }
}

extension HTTPRequester {
    package func status(_ request: HTTPRequest) async throws -> Int { try await response(to: request).status }

    /// Returns the error of a request. Returns nil if there was an answer, or an error of another type.
    package func failure(_ request: HTTPRequest) async -> HTTPRequestError? {
        do {
            _ = try await response(to: request)
            return nil
        } catch {
            return error as? HTTPRequestError
        }
    }
}

extension AsyncHTTPRequester {
    /// A client with a long timeout for connections, for slow machines.
    package static func patient(tls: TLSOptions = TLSOptions(), proxies: ProxyRules = .direct) -> AsyncHTTPRequester {
        AsyncHTTPRequester(tls: TLSContextSource(tls), proxies: proxies, connectTimeout: .patience)
    }
}
