import NIOCore
import RealtimeNetworking

/// A request with all its redirects, on one event loop.
final class HTTPCall {
    struct Rules {
        /// The rules for redirects; nil if redirects are ordinary responses.
        var redirects: Redirect.Rules?
        var maximumRedirects: Int
        /// Whether the requests use the client's limited number of connections.
        var isPooled: Bool
        /// The size of the first reads from a new connection, in bytes.
        var initialReadSize = 512
    }

    /// The longest body of a redirect that the call reads, in bytes. The end of the body leaves the connection for the
    /// next request. It takes longer to read a long body than to make a connection.
    private static let longestBody = 65_536

    private let connections: HTTPConnections
    private let rules: Rules
    private var receive: ((HTTPStreamEvent) -> Void)?

    /// The current request, as the client sends it.
    private var request: HTTPRequest?
    private var exchange: HTTPExchange?
    private(set) var redirectCount = 0
    /// The request that follows the current response; nil until the response is a redirect.
    private var target: HTTPRequest?
    private var isReading = true

    /// - Parameter receive: A closure that gets the response that is not a redirect, and finally `end` or `failed`.
    init(over connections: HTTPConnections, _ rules: Rules, receive: @escaping (HTTPStreamEvent) -> Void) {
        self.connections = connections
        self.rules = rules
        self.receive = receive
    }

    func send(_ request: HTTPRequest) {
        self.request = request
        do throws(HTTPRequestError) {
            let exchange = try HTTPExchange(
                request,
                over: connections,
                isPooled: rules.isPooled,
                initialReadSize: rules.initialReadSize
            ) { self.received($0) }
            self.exchange = exchange
            exchange.setReading(isReading)
            exchange.start()
        } catch {
            end(.failed(error))
        }
    }

    /// Ends the call without an event.
    func cancel() {
        receive = nil
        exchange?.cancel()
        exchange = nil
    }

    func setReading(_ isReading: Bool) {
        self.isReading = isReading
        exchange?.setReading(isReading)
    }

    private func received(_ event: HTTPStreamEvent) {
        switch event {
        case .head(let response): receivedHead(response)
        case .body: if target == nil { receive?(event) }
        case .end, .failed:
            exchange = nil
            if target == nil { end(event) } else { follow() }
        }
    }

    private func receivedHead(_ response: HTTPResponse) {
        guard let request else { return }
        var response = response
        if redirectCount > 0 { response.url = request.url }
        do throws(HTTPRequestError) {
            if let rules = rules.redirects { target = try Redirect.target(of: response, to: request, rules) }
            guard target != nil else {
                receive?(.head(response))
                return
            }
            guard redirectCount < rules.maximumRedirects else {
                throw HTTPRequestError(
                    .redirectRefused,
                    "the server redirects more than \(rules.maximumRedirects) times"
                )
            }
            redirectCount += 1
            let length = request.method == "HEAD" ? 0 : response.headers["Content-Length"].flatMap { Int($0) }
            if !rules.isPooled || length.map({ $0 > Self.longestBody }) ?? true { follow() }
        } catch {
            target = nil
            end(.failed(error))
        }
    }

    private func follow() {
        guard let target else { return }
        self.target = nil
        exchange?.cancel()
        exchange = nil
        send(target.prepared)
    }

    private func end(_ event: HTTPStreamEvent) {
        let receive = receive
        cancel()
        if case .failed(var error) = event {
            error.url = request?.url
            receive?(.failed(error))
        } else {
            receive?(event)
        }
    }
}
