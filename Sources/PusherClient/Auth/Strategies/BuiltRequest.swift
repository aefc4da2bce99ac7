import Foundation
import RealtimeHTTP

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Requests that an ``AuthRequestBuilderProtocol`` makes.
enum BuiltRequest {
    static let maximumBodySize = 1_048_576
    /// The default timeout of a `URLRequest`. The client ignores this value, because the app probably did not choose
    /// it.
    static let untouchedTimeout: TimeInterval = 60

    static func authorize(
        _ request: AuthorizationRequest,
        with builder: any AuthRequestBuilderProtocol,
        in context: AuthorizationContext
    ) async -> Result<Authorization, AuthorizationError> {
        let subject = AuthorizationSubject.channel(request.channelName)
        do throws(AuthorizationError) {
            let built = await UserCode.value { build(request, with: builder, in: context) }
            guard let built else { throw .cancelled(subject) }
            let httpRequest = try built.get()
            let response = try await context.response(to: httpRequest, for: subject)
            let answer = EndpointAnswer(response: response, url: httpRequest.url, canAskOnceMore: true)
            return .success(try answer.authorization(of: subject))
        } catch {
            return .failure(error)
        }
    }

    private static func build(
        _ request: AuthorizationRequest,
        with builder: any AuthRequestBuilderProtocol,
        in context: AuthorizationContext
    ) -> Result<HTTPRequest, AuthorizationError> {
        let subject = AuthorizationSubject.channel(request.channelName)
        guard let built = builder.requestFor(socketID: request.socketID, channelName: request.channelName) else {
            return .failure(.invalidRequest("the request builder gave nil", subject))
        }
        do throws(AuthorizationError) {
            var httpRequest = HTTPRequest(
                url: built.url?.absoluteString ?? "",
                method: built.httpMethod ?? "GET",
                headers: HTTPFields(built.allHTTPHeaderFields ?? [:]),
                body: try body(of: built, subject),
                timeout: timeout(of: built) ?? context.timeout,
                maximumResponseSize: context.maximumResponseSize
            )
            if httpRequest.body != nil {
                httpRequest.headers.setIfMissing("Content-Type", "application/x-www-form-urlencoded")
            }
            httpRequest.headers.setIfMissing("Accept", "application/json")
            return .success(httpRequest)
        } catch {
            return .failure(error)
        }
    }

    private static func timeout(of request: URLRequest) -> Duration? {
        let interval = request.timeoutInterval
        guard interval > 0, interval != untouchedTimeout else { return nil }
        return .seconds(min(interval, Double(HTTPRequest.maximumTimeout)))
    }

    private static func body(
        of request: URLRequest,
        _ subject: AuthorizationSubject
    ) throws(AuthorizationError) -> [UInt8]? {
        if let body = request.httpBody { return Array(body) }
        guard let stream = request.httpBodyStream else { return nil }
        stream.open()
        defer { stream.close() }
        var body: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = stream.read(&chunk, maxLength: chunk.count)
            guard count >= 0 else {
                throw .invalidRequest(
                    "the httpBodyStream of the request could not be read",
                    subject,
                    cause: stream.streamError
                )
            }
            guard count > 0 else { return body }
            body += chunk.prefix(count)
            guard body.count <= maximumBodySize else {
                throw .invalidRequest("the body of the request has more than \(maximumBodySize) bytes", subject)
            }
        }
    }
}
