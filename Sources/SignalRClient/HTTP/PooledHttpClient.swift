import NIOPosix
import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives
import SignalRCore

/// The default HTTP client.
final class PooledHttpClient: HttpClient {
    /// The requester. The transport for server-sent events uses the requester directly, because an ``HttpClient``
    /// cannot stream responses.
    let requester: PooledHTTPRequester
    private let maximumResponseSize: Int

    /// - Parameter dialer: Makes the connections. Default: a dialer of its own.
    init(_ options: HttpConnectionOptions, dialer: Dialer? = nil) {
        requester = PooledHTTPRequester(
            dialer: dialer ?? options.makeDialer(),
            on: MultiThreadedEventLoopGroup.singleton.next(),
            connectTimeout: options.connectTimeout ?? .seconds(10)
        )
        maximumResponseSize = options.maximumDeliverySize
    }

    func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse) {
        let maximumResponseSize = request.maximumResponseSize ?? maximumResponseSize
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
                error.code,
                "Request to \(url) failed: \(error.message).\(error.adviceAboutTLS(for: url))",
                address: url,
                cause: error
            )
        }
        guard !response.isCut else {
            // Requests without a limit of their own get messages of the hub.
            if request.maximumResponseSize == nil {
                throw SignalRClientError.deliveryTooLarge(limit: maximumResponseSize)
            }
            throw SignalRClientError(
                .connectionFailed,
                """
                Request to \(HTTPRequest.printable(url: request.url)) failed: the response has more than \
                \(maximumResponseSize) bytes.
                """,
                httpStatus: response.status,
                address: HTTPRequest.printable(url: request.url)
            )
        }
        if let compression = response.compression, (200..<300).contains(response.status), !response.body.isEmpty {
            throw SignalRClientError(compression: compression, of: HTTPRequest.printable(url: request.url), response)
        }
        let body: StringOrData =
            switch request.responseType {
            case .text: .string(String(decoding: response.body, as: UTF8.self))
            case .binary: .data(Data(response.body))
            }
        let cookies = response.headers.fields.filter { $0.name.lowercased() == "set-cookie" }.map(\.value)
        var result = HttpResponse(statusCode: response.status, cookies: cookies)
        result.retryAfter = response.retryAfter
        return (body, result)
    }
}

extension HTTPResponse {
    /// The minimum wait that the server demands. As the other clients do, the client waits for up to a day.
    var retryAfter: Duration { RetryAfter.delay(headers["Retry-After"], now: Date(), maximum: 86_400) }
}

extension HTTPRequestError {
    /// The code for a request without an answer.
    var code: SignalRClientError.Code {
        switch kind {
        case .pinMismatch: .pinMismatch
        case .failed where cause is TLSFailure && isUnsent: .tlsFailed
        case .invalidRequest, .timedOut, .failed, .redirectRefused, .shutDown: .connectionFailed
        }
    }
}

extension SignalRClientError {
    /// Creates the error for a compressed response, which the client cannot read.
    init(compression: String, of url: String, _ response: HTTPResponse) {
        self.init(
            .connectionFailed,
            """
            Request to \(url) failed: the response has the content encoding \(compression.quoted), although the request \
            accepts only uncompressed responses. Turn the compression off for this URL.
            """,
            httpStatus: response.status,
            address: url
        )
    }
}
