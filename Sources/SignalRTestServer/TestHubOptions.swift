public import Foundation
import RealtimeJSON
public import SignalRClient

/// The options of a ``SignalRTestServer``. The defaults are those of ASP.NET Core, except
/// ``allowsStatefulReconnect``.
public struct TestHubOptions: Sendable {
    // MARK: Addresses

    /// The port of the loopback interface. Default: 0, which means any free port.
    public var port = 0
    /// The path of the hub; `/` for the root. A slash at its end has no meaning. Requests for other paths get status 404,
    /// unless you add another hub or an endpoint. Default: `/hub`.
    public var path = "/hub"
    /// The certificate for TLS. Default: `nil`, which means HTTP without TLS.
    public var certificate: TestHubCertificate?
    /// The origins of web pages that may use the server, besides pages of this machine, for example
    /// `https://app.example.test`. The server answers other pages with status 403. Default: none.
    public var allowedOrigins: Set<String> = []
    /// The names in the `Host` of requests that the server accepts, besides names and addresses of this machine. The
    /// server answers requests for other names with status 403. Default: none.
    public var allowedHosts: Set<String> = []

    // MARK: Transports

    /// The transports that the server offers, in its order of preference. Default: WebSockets, server-sent events, long
    /// polling.
    public var transports: [HttpTransportType] = [.webSockets, .serverSentEvents, .longPolling]
    /// The mistakes of clients that the server accepts. Default: none.
    public var tolerated: Set<TestHubRule> = []
    /// The interval at which the server sends pings over WebSockets and server-sent events, even if it has sent other
    /// messages. Default: 15 s.
    public var keepAliveInterval = Duration.seconds(15)
    /// The time within which a client must send a message or a ping. Afterwards, the server sends a Close message that
    /// allows a reconnect. Clients that poll are not affected. Default: 30 s.
    public var clientTimeout = Duration.seconds(30)
    /// The time within which a client with an open transport must send its handshake. Afterwards, the server refuses the
    /// handshake. Default: 15 s.
    public var handshakeTimeout = Duration.seconds(15)
    /// The time for which the server keeps a poll open if there are no messages. Default: 90 s.
    public var pollTimeout = Duration.seconds(90)
    /// The time after which the server forgets a connection without a transport: a connection that was only negotiated, a
    /// client that does not poll again, and a connection that can be resumed. Default: 15 s.
    public var disconnectTimeout = Duration.seconds(15)
    /// The longest message that a client may send, in bytes. After a longer message, the server sends a Close message
    /// that allows a reconnect. Default: 32,768.
    public var maximumMessageSize = 32_768
    /// The limit for the bytes that wait for the client of one connection. If more bytes wait when the server sends
    /// another message, the server drops the transport, because the client does not read. The server ends the connection
    /// if more bytes wait for the client's first poll, for the client's acknowledgements on a connection that can be
    /// resumed, in calls that wait for others, or in one upload that its method does not read. Default: 16 MiB.
    public var maximumQueueSize = 16 << 20

    // MARK: Resuming

    /// Whether clients can resume connections. Default: `true`. In ASP.NET Core, the default is that they can't.
    public var allowsStatefulReconnect = true
    /// The number of bytes that the server sends on a connection that can be resumed before it waits for an
    /// acknowledgement. Default: 100,000.
    public var statefulBufferSize = 100_000

    // MARK: Methods and values

    /// The number of methods of one connection that may run at the same time. Streams, methods with uploads and the
    /// built-in methods do not count. Default: 1.
    public var maximumParallelCalls = 1
    /// Whether callers get the type and the description of an error that is not a `HubError`, and the reason why
    /// arguments do not fit. Default: `false`.
    public var sendsDetailedErrors = false
    /// The rule that converts names of properties to keys in MessagePack. Default: the names do not change.
    public var messagePackKeys = MessagePackKeys.asIs
    /// The number of decimal digits of the seconds in dates that the server writes as JSON, from 0 to 7. Default: `nil`,
    /// which means as many as a date needs, as .NET does.
    public var dateDigits: Int?
    /// A closure that makes the encoder for JSON. Default: `nil`, which means the client's own encoder, which writes dates in
    /// ISO 8601 and does not change names.
    public var jsonEncoder: (@Sendable () -> JSONEncoder)?
    /// A closure that makes the decoder for JSON. It accepts what a `JSONDecoder` does, so the rule
    /// ``TestHubRule/integersWithoutFractions`` has no effect. Default: `nil`, which means the client's own decoder.
    public var jsonDecoder: (@Sendable () -> JSONDecoder)?

    // MARK: Tokens

    /// The bearer token that the server requires in all requests. Other requests get status 401. Default: `nil`, which
    /// means that requests need no token.
    public var requiredToken: String?
    /// A closure that decides about each request for the hub, besides ``requiredToken``. The server calls it on its event
    /// loop, so it must not block. As in ASP.NET Core, a transport with another user than its negotiation gets status
    /// 403. A hub in memory has no requests, so it never calls the closure, and its connections have no user. Default:
    /// `nil`, which means that every request is accepted.
    public var authorize: (@Sendable (TestHubRequest) -> TestHubAuthorization)?
    /// The time after which the authentication of a connection expires. The server tells clients the whole
    /// seconds, and accepts refreshes. At the expiry, it closes the connection with a Close message that allows a reconnect.
    /// Default: `nil`, which means that nothing expires, and that a refresh gets status 404.
    public var tokenLifetime: Duration?

    /// Creates options.
    public init() {}

    func requires(_ rule: TestHubRule) -> Bool { !tolerated.contains(rule) }
}

/// A rule for clients. A ``SignalRTestServer`` enforces all rules except those in ``TestHubOptions/tolerated``.
public enum TestHubRule: Hashable, Sendable, CaseIterable {
    /// A POST on the connection of a WebSocket gets status 405.
    case noPostOnWebSocket
    /// A POST before the connection has a transport gets status 400.
    case noPostBeforeTransport
    /// A transport that is not in ``TestHubOptions/transports`` gets status 404.
    case onlyOfferedTransports
    /// A handshake for MessagePack over server-sent events, which carry only text, is refused.
    case noMessagePackOverEvents
    /// A call must have as many streams as the method takes. Otherwise, the call fails.
    case streamCounts
    /// The header map of a MessagePack message must not be `nil`. Otherwise, the server closes the connection.
    case messagePackHeaders
    /// A value for an integer must not be a floating-point number, not even `2.0`: in an argument, in a property, in an
    /// item of an upload, and in the result of a client. Otherwise, the call fails. With
    /// ``TestHubOptions/jsonDecoder``, that decoder decides.
    case integersWithoutFractions
    /// WebSocket frames of clients must be masked. Otherwise, the server closes with code 1002.
    case maskedFrames
    /// Frames must not have reserved bits or opcodes. Otherwise, the server closes with code 1002.
    case noReservedFrames
    /// A text message over a WebSocket must be UTF-8. Otherwise, the server closes with code 1007.
    case textIsUTF8
    /// A client must send something within ``TestHubOptions/clientTimeout``.
    case pings
    /// A client must send its handshake within ``TestHubOptions/handshakeTimeout``.
    case handshakes
    /// A client that polls must poll again within ``TestHubOptions/disconnectTimeout``.
    case polls
    /// A client of a connection that can be resumed must acknowledge messages. Otherwise, the server sends nothing more
    /// after ``TestHubOptions/statefulBufferSize`` bytes.
    case acknowledgements
}

/// The certificate chain and the private key of a server.
public struct TestHubCertificate: Hashable, Sendable {
    /// The certificate in PEM form, followed by all certificates between it and the root.
    public var certificateChain: String
    /// The private key in PEM form, not encrypted.
    public var privateKey: String

    /// Creates a certificate.
    public init(certificateChain: String, privateKey: String) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
    }
}

/// The answer of ``TestHubOptions/authorize``.
public enum TestHubAuthorization: Hashable, Sendable {
    /// The server accepts the request.
    ///
    /// - Parameters:
    ///   - userID: The id of the user. A transport or a refresh with another user gets status 403. Default: none.
    ///   - lifetime: The time after which the authentication expires. Default: `nil`, for
    ///     ``TestHubOptions/tokenLifetime``.
    case allow(userID: String? = nil, lifetime: Duration? = nil)
    /// The server answers with this status: 401, or 403 for a user who may not use the hub.
    case refuse(status: Int)
}

extension TestHubOptions {
    func makeCoder(_ hubProtocol: HubProtocolType) -> HubCoder {
        let acceptsFractions = !requires(.integersWithoutFractions)
        guard hubProtocol == .json else {
            return HubCoder(messagePack: messagePackKeys, acceptsFloatsForIntegers: acceptsFractions)
        }
        var decoding = HubCoder.defaultDecoding
        decoding.acceptsFractionsForIntegers = acceptsFractions
        let encoding = JSONEncodingOptions { [dateDigits] in Self.text(of: $0, digits: dateDigits) }
        return HubCoder(encoding: encoding, jsonEncoder?(), jsonDecoder?(), decoding: decoding)
    }

    private static func text(of date: Date, digits: Int?) -> String? {
        guard let count = digits.map({ min(max($0, 0), 7) }) else { return ISO8601.text(date) }
        let scale = (0..<count).reduce(1.0) { scale, _ in scale * 10 }
        let time = date.timeIntervalSinceReferenceDate
        var seconds = time.rounded(.down)
        // Zero digits cut the fraction off.
        var fraction = count == 0 ? 0 : ((time - seconds) * scale).rounded()
        if fraction >= scale { (seconds, fraction) = (seconds + 1, 0) }
        guard let whole = ISO8601.text(Date(timeIntervalSinceReferenceDate: seconds))?.prefix(19) else { return nil }
        let decimals = String(Int(fraction))
        let zeros = String(repeating: "0", count: max(0, count - decimals.count))
        return count == 0 ? "\(whole)Z" : "\(whole).\(zeros)\(decimals)Z"
    }
}

extension TestHubOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The port and the transports, and whether requests need a token.
    public var description: String {
        "TestHubOptions(port: \(port), transports: \(transports), needsToken: \(requiredToken != nil))"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TestHubCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The size of the certificate, without the private key.
    public var description: String { "TestHubCertificate(certificateChain: \(certificateChain.utf8.count) bytes)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show the private key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
