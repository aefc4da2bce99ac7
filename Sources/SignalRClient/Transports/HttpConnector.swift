import NIOConcurrencyHelpers
import NIOCore
import RealtimeHTTP
import SignalRCore
import WebSocketClient

/// Negotiates with the server, and opens a transport that client and server support.
final class HttpConnector: HubTransportOpener {
    private static let maximumRedirects = 100
    /// A lower limit for messages does not apply to the server's answer to a negotiation. In bytes.
    static let minimumAnswerSize = 65_536

    private let url: String
    private let options: HttpConnectionOptions
    private let client: any HttpClient
    private let pooledClient: PooledHttpClient
    /// Opens WebSockets. All connections of the client have the same dialer.
    private let webSockets: WebSocketConnector
    private let hubProtocol: HubProtocol
    private let logger: HubLogger

    init(
        _ url: String,
        _ options: HttpConnectionOptions,
        _ hubProtocol: HubProtocol,
        logger: HubLogger
    ) {
        self.url = url
        self.options = options
        self.hubProtocol = hubProtocol
        self.logger = logger
        let dialer = options.makeDialer()
        pooledClient = PooledHttpClient(options, dialer: dialer)
        var webSocket = WebSocketOptions()
        webSocket.maximumMessageSize = options.maximumDeliverySize
        if let timeout = options.connectTimeout { webSocket.connectTimeout = timeout }
        webSockets = WebSocketConnector(webSocket, dialer: dialer)
        client = options.httpClient ?? pooledClient
    }

    private var permitted: HttpTransportType {
        options.transport ?? [.webSockets, .serverSentEvents, .longPolling]
    }

    func open(
        wantsResumption: Bool,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> OpenedTransport {
        guard let parts = URLComponents(string: url), ["http", "https"].contains(parts.scheme?.lowercased()),
            parts.host?.isEmpty == false
        else { throw SignalRError.invalidUrl(HTTPRequest.printable(url: url)) }
        let http = HubHTTP(options, client, hub: url)
        if options.skipNegotiation {
            guard permitted == .webSockets else {
                throw SignalRError.negotiationError(
                    "Negotiation can only be skipped if the transport is set to WebSockets alone."
                )
            }
            try await http.renewToken()
            let info = TransportInfo(connectionID: nil, transport: .webSockets)
            return try await open(info, url, http, on: eventLoop, receive: receive)
        }
        var prepared: Prepared? = try await negotiate(http, wantsResumption)
        var reasons: [String] = []
        var retryAfter = Duration.zero
        for offered in prepared?.negotiation.transports ?? [] {
            if let obstacle = offered.obstacle(for: hubProtocol, permitted: permitted) {
                reasons.append("\(offered.name.shortened): \(obstacle).")
                continue
            }
            guard let transport = offered.transport else { continue }
            // A connection token is valid for one transport, so each further transport needs a new negotiation.
            let current: Prepared
            if let prepared {
                current = prepared
            } else {
                current = try await negotiate(HubHTTP(options, client, hub: url), wantsResumption)
            }
            prepared = nil
            do {
                var info = TransportInfo(
                    connectionID: current.negotiation.connectionID,
                    transport: transport,
                    canBeResumed: current.negotiation.canBeResumed && transport == .webSockets
                )
                info.canBeRefreshed = current.http.canRenewToken
                info.tokenLifetime = current.negotiation.tokenLifetime
                let token = current.negotiation.connectionToken
                let url = ConnectionURL.transport(current.url, token: token)
                var opened = try await open(info, url, current.http, on: eventLoop, receive: receive)
                opened.refresh = { [http = current.http, hub = current.url] in
                    try await http.refreshAuthentication(hub, connectionToken: token)
                }
                return opened
            } catch {
                if error is CancellationError { throw error }
                // Another transport must not reach a server that the pins or the certificates exclude, and needs the same
                // token.
                if let error = error as? SignalRClientError,
                    [.pinMismatch, .tlsFailed, .accessTokenFailed].contains(error.code)
                {
                    throw error
                }
                if let error = error as? SignalRClientError { retryAfter = max(retryAfter, error.retryAfter) }
                logger.log(.warning, "The transport '\(offered.name)' failed: \(error)")
                reasons.append("\(offered.name): \(error)")
            }
        }
        var explanation = reasons.isEmpty ? "The server offers none." : reasons.prefix(10).joined(separator: " ")
        if reasons.count > 10 { explanation += " The server offers \(reasons.count - 10) more." }
        var error = SignalRClientError(
            .allTransportsFailed,
            "Connection not started: no transport works. \(explanation)"
        )
        error.retryAfter = retryAfter
        throw error
    }

    // MARK: Negotiation

    private struct Prepared {
        var negotiation: Negotiation
        /// The hub's URL, or the URL to which the server redirected the client.
        var url: String
        var http: HubHTTP
    }

    private func negotiate(_ http: HubHTTP, _ wantsResumption: Bool) async throws -> Prepared {
        var url = url
        try await http.renewToken()
        for _ in 0...Self.maximumRedirects {
            let negotiation = ConnectionURL.negotiation(url, resumable: wantsResumption)
            let response: HubResponse
            do {
                response = try await http.send(
                    .POST,
                    negotiation,
                    maximumResponseSize: max(options.maximumMessageSize, Self.minimumAnswerSize)
                )
            } catch SignalRError.httpTimeoutError {
                throw SignalRClientError(unanswered: "Negotiation", by: HTTPRequest.printable(url: negotiation))
            }
            guard response.status == 200 else { throw Self.refusal(of: negotiation, response) }
            switch try Self.answer(response.body) {
            case .accepted(let negotiation): return Prepared(negotiation: negotiation, url: url, http: http)
            case .refused(let reason): throw SignalRError.negotiationError(reason)
            case .redirect(let target, let token):
                try checkRedirect(from: url, to: target)
                url = target
                http.redirected(token: token)
            }
        }
        throw SignalRError.negotiationError("the server redirects too often.")
    }

    private func checkRedirect(from url: String, to target: String) throws {
        guard let to = HTTPOrigin(target) else {
            throw SignalRError.negotiationError("the server redirects to an address that is not an http or https URL.")
        }
        guard let from = HTTPOrigin(url), from.isEncrypted, !to.isEncrypted, !options.allowsInsecureRedirects else {
            return
        }
        throw SignalRError.negotiationError(
            """
            the server redirects from \(from) to \(to), which is not encrypted. Correct the server's answer, or set \
            allowsInsecureRedirects.
            """
        )
    }

    private static func answer(_ body: [UInt8]) throws -> NegotiationAnswer {
        do throws(HubProtocolViolation) {
            return try NegotiationAnswer(body)
        } catch {
            throw SignalRError.negotiationError("the client cannot use the server's answer, because \(error).")
        }
    }

    private static func refusal(of url: String, _ response: HubResponse) -> SignalRClientError {
        let isUnknown = response.status == 404
        return SignalRClientError(
            refused: "Negotiation",
            by: HTTPRequest.printable(url: url),
            status: response.status,
            retryAfter: response.retryAfter,
            hint: isUnknown
                ? " This may not be a SignalR endpoint, or there is a proxy blocking the connection." : ""
        )
    }

    // MARK: Transports

    private func open(
        _ info: TransportInfo,
        _ url: String,
        _ http: HubHTTP,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> OpenedTransport {
        let open: @Sendable (@escaping OpenedTransport.Receiver) async throws -> any HubTransport = { [self] receive in
            switch info.transport {
            case .webSockets: try await openWebSocket(url, http, on: eventLoop, receive: receive)
            case .longPolling:
                try await LongPollingTransport.open(
                    http,
                    url,
                    timeout: options.timeout,
                    isBinary: hubProtocol.isBinary,
                    on: eventLoop,
                    receive: receive
                )
            default:
                try await openEvents(url, http, on: eventLoop, receive: receive)
            }
        }
        return OpenedTransport(try await open(receive), info, reopen: open)
    }

    private func openEvents(
        _ url: String,
        _ http: HubHTTP,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> EventTransport {
        try await withFreshToken(http) {
            try await EventTransport.open(
                http,
                url,
                streamer: pooledClient.requester,
                limit: options.maximumDeliverySize,
                timeout: options.timeout,
                on: eventLoop,
                receive: receive
            )
        }
    }

    private func openWebSocket(
        _ url: String,
        _ http: HubHTTP,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> WebSocketTransport {
        try await withFreshToken(http) {
            try await WebSocketTransport.open(
                http.url(url),
                headers: http.headers(for: url),
                connector: webSockets,
                isBinary: hubProtocol.isBinary,
                on: eventLoop,
                receive: receive
            )
        }
    }

    /// Opens a transport. If the server answers with 401, the client gets another token from the app, and tries again.
    private func withFreshToken<T>(_ http: HubHTTP, _ open: () async throws -> T) async throws -> T {
        do {
            return try await open()
        } catch {
            guard (error as? SignalRClientError)?.httpStatus == 401 else { throw error }
            try await http.renewToken()
            return try await open()
        }
    }
}
