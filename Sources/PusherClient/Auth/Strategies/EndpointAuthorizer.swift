import RealtimeHTTP

/// An authorizer that sends requests to an ``AuthEndpoint`` (protocol clause 8).
struct EndpointAuthorizer: BuiltInAuthorizer {
    let endpoint: AuthEndpoint

    var description: String { "endpoint(\(endpoint))" }
    var maximumBatchSize: Int { endpoint.isBatching ? endpoint.maximumBatchSize : 1 }

    func authorize(
        _ requests: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>] {
        guard let socketID = requests.first?.socketID else { return [] }
        let names = requests.map(\.channelName)
        let subject: AuthorizationSubject =
            if names.count == 1, let name = names.first { .channel(name) } else { .channels(names.count) }
        do throws(AuthorizationError) {
            let answer = try await ask(
                AuthEndpoint.Request(socketID: socketID, channelNames: names),
                subject: subject,
                in: context
            )
            if endpoint.isBatching { return try answer.authorizations(ofChannels: names) }
            return [.success(try answer.authorization(of: subject))]
        } catch {
            return requests.map { _ in .failure(error) }
        }
    }

    func authenticate(
        socketID: String,
        in context: AuthorizationContext
    ) async -> Result<Authorization, AuthorizationError> {
        do throws(AuthorizationError) {
            let answer = try await ask(AuthEndpoint.Request(socketID: socketID), subject: .user, in: context)
            return .success(try answer.authorization(of: .user))
        } catch {
            return .failure(error)
        }
    }

    private func ask(
        _ request: AuthEndpoint.Request,
        subject: AuthorizationSubject,
        in context: AuthorizationContext
    ) async throws(AuthorizationError) -> EndpointAnswer {
        let httpRequest = try await httpRequest(for: request, subject: subject, in: context)
        return EndpointAnswer(
            response: try await context.response(to: httpRequest, for: subject),
            url: endpoint.url,
            canAskOnceMore: endpoint.headersProvider != nil || endpoint.parametersProvider != nil
        )
    }

    private func httpRequest(
        for request: AuthEndpoint.Request,
        subject: AuthorizationSubject,
        in context: AuthorizationContext
    ) async throws(AuthorizationError) -> HTTPRequest {
        let provided = try await Self.call(endpoint.headersProvider, "the headers provider", request, subject)
        var headers = HTTPFields(endpoint.headers)
        for field in HTTPFields(provided ?? [:]).fields { headers.set(field.name, field.value) }
        headers.setIfMissing("Accept", "application/json")
        var parameters = endpoint.parameters
        if let provided = try await Self.call(
            endpoint.parametersProvider,
            "the parameters provider",
            request,
            subject
        ) {
            parameters = parameters.overridden(by: provided)
        }
        let form = try form(for: request, parameters: parameters, subject: subject)
        var httpRequest = HTTPRequest(
            url: endpoint.url,
            method: endpoint.method.uppercased(),
            headers: headers,
            timeout: endpoint.timeout ?? context.timeout,
            maximumResponseSize: context.maximumResponseSize
        )
        if httpRequest.method == "GET" {
            httpRequest.url = Self.url(endpoint.url, query: form)
        } else {
            httpRequest.headers.setIfMissing("Content-Type", "application/x-www-form-urlencoded")
            httpRequest.body = Array(form.utf8)
        }
        // The client also asks again after a failure, so another request does no harm.
        httpRequest.isRepeatable = true
        return httpRequest
    }

    private static func call<Value: Sendable>(
        _ provider: (@Sendable (AuthEndpoint.Request) async throws -> Value)?,
        _ name: String,
        _ request: AuthEndpoint.Request,
        _ subject: AuthorizationSubject
    ) async throws(AuthorizationError) -> Value? {
        guard let provider else { return nil }
        switch await UserCode.asynchronously({ try await provider(request) }) {
        case .success(let value): return value
        case .failure(let error): throw .thrown(error, by: name, subject)
        case nil: throw .cancelled(subject)
        }
    }

    /// Makes the form with `socket_id`, the channels and the parameters, in this order.
    private func form(
        for request: AuthEndpoint.Request,
        parameters: AuthEndpoint.Parameters,
        subject: AuthorizationSubject
    ) throws(AuthorizationError) -> String {
        let isBatch = endpoint.isBatching && subject != .user
        var pairs = [("socket_id", request.socketID)]
        pairs += request.channelNames.map { (isBatch ? "channel_name[]" : "channel_name", $0) }
        for parameter in parameters.elements {
            guard !["socket_id", "channel_name", "channel_name[]"].contains(parameter.name) else {
                throw .invalidRequest(
                    "the parameter '\(parameter.name)' is reserved for the protocol. Remove it",
                    subject
                )
            }
            pairs.append((parameter.name, parameter.value))
        }
        return pairs.map { "\(FormEncoding.encode($0.0))=\(FormEncoding.encode($0.1))" }.joined(separator: "&")
    }

    private static func url(_ url: String, query: String) -> String {
        let fragment = url.firstIndex(of: "#") ?? url.endIndex
        let address = url[..<fragment]
        let isOpen = address.hasSuffix("?") || address.hasSuffix("&")
        let separator = isOpen ? "" : address.contains("?") ? "&" : "?"
        return "\(address)\(separator)\(query)"
    }
}
