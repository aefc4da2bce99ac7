import RealtimeHTTP
import RealtimeNetworking

/// The default HTTP client.
final class PooledHttpClient: HttpClient {
    /// The requester. The transport for server-sent events uses the requester directly, because an ``HttpClient``
    /// cannot stream responses.
    let requester: AsyncHTTPRequester
    private let maximumResponseSize: Int

    init(_ options: HttpConnectionOptions, connectTimeout: Duration = .seconds(10)) {
        requester = AsyncHTTPRequester(
            tls: TLSContextSource(options.tls),
            proxies: ProxyRules(options.proxy),
            connectTimeout: connectTimeout
        )
        maximumResponseSize = options.maximumDeliverySize
    }

    func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse) {
        let response: HTTPResponse
        do {
            response = try await requester.response(
                to: HTTPRequest(
                    url: request.url,
                    method: request.method.rawValue,
                    headers: HTTPFields(request.headers),
                    body: request.content?.bytes ?? (request.method == .POST ? [] : nil),
                    timeout: Duration(clampingSeconds: request.timeout),
                    maximumResponseSize: maximumResponseSize
                )
            )
        } catch let error as HTTPRequestError {
            // A poll that times out is normal. But if no connection can be made, the server is lost.
            if error.kind == .timedOut, !error.isUnsent { throw SignalRError.httpTimeoutError }
            let url = HTTPRequest.printable(url: error.url ?? request.url)
            throw SignalRClientError(
                error.kind == .pinMismatch ? .pinMismatch : .connectionFailed,
                "Request to \(url) failed: \(error.message).\(error.adviceAboutTLS(for: url))",
                cause: error
            )
        }
        guard !response.isCut else {
            throw SignalRClientError(
                .connectionFailed,
                "Request failed: the response has more than \(maximumResponseSize) bytes.",
                httpStatus: response.status
            )
        }
        let body: StringOrData =
            switch request.responseType {
            case .text: .string(String(decoding: response.body, as: UTF8.self))
            case .binary: .data(Data(response.body))
            }
        let cookies = response.headers.fields.filter { $0.name.lowercased() == "set-cookie" }.map(\.value)
        return (body, HttpResponse(statusCode: response.status, cookies: cookies))
    }
}
