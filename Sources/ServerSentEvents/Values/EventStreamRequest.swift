public import Foundation
import RealtimeHTTP
import RealtimeJSON
public import RealtimeNetworking

/// The request whose response is the event stream.
///
/// The client adds `Accept: text/event-stream` and `Cache-Control: no-cache` unless ``headers`` contains these fields. Its
/// `Accept` also names the ``EventStreamOptions/wholeContentTypes``. If the stream has an id, the client also adds
/// `Last-Event-ID`.
public struct EventStreamRequest: Hashable, Sendable {
    /// An `http` or `https` URL.
    public var url: String
    /// The HTTP method. Default: `GET`.
    public var method: String
    /// Additional header fields. The values of the fields may be secret, so errors and logs never contain the values.
    /// If a redirect leads to another origin, the client sends only `Accept`, `Cache-Control`, `Last-Event-ID` and the
    /// fields in ``EventStreamOptions/headersForOtherOrigins`` to that origin.
    public var headers: HTTPHeaderFields
    /// The body; `nil` for a request without a body. Add the body's `Content-Type` to ``headers``. If a redirect leads to
    /// another origin with the same method (status 307 or 308), the client does not send the body there, and the stream
    /// fails with ``EventStreamError/Code/redirectRefused``.
    public var body: [UInt8]?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL. The client checks the URL when the stream connects.
    ///   - method: The HTTP method. Default: `GET`.
    ///   - headers: Additional header fields. Default: none.
    ///   - body: The body. Default: none.
    public init(_ url: String, method: String = "GET", headers: HTTPHeaderFields = [:], body: [UInt8]? = nil) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
    }

    /// Creates a request with a JSON body and its `Content-Type`.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL. The client checks the URL when the stream connects.
    ///   - method: The HTTP method. Default: `POST`.
    ///   - headers: Additional header fields. Default: none.
    ///   - json: The value to encode.
    ///   - encoder: The encoder. Default: the client's own encoder, which writes what a new `JSONEncoder` writes, but
    ///     does not escape slashes.
    /// - Throws: The error of the encoder.
    public init(
        _ url: String,
        method: String = "POST",
        headers: HTTPHeaderFields = [:],
        json: some Encodable,
        encoder: JSONEncoder? = nil
    ) throws {
        self.init(url, method: method, headers: headers, body: try JSONEncodingOptions().encode(json, with: encoder))
        if headers["Content-Type"] == nil { self.headers["Content-Type"] = "application/json" }
    }
}

extension EventStreamRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, and the URL without user, password and query. Header fields, bodies and queries may be secret.
    public var description: String { "\(method) \(HTTPRequest.printable(url: url))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension EventStreamRequest {
    /// Whether the client can send the id. The id must not be empty, and must not have control characters other than
    /// tabs, because header fields must not contain them.
    static func canSend(lastEventID: String) -> Bool {
        !lastEventID.isEmpty && lastEventID.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    /// Makes the HTTP request.
    func message(lastEventID: String, _ options: EventStreamOptions) throws(EventStreamError) -> HTTPRequest {
        var fields = HTTPFields()
        for header in headers { fields.append(header.name, header.value) }
        fields.setIfMissing(
            "Accept",
            (options.wholeContentTypes.sorted() + ["text/event-stream"]).joined(separator: ", ")
        )
        fields.setIfMissing("Cache-Control", "no-cache")
        // If a header field cannot contain the id, the client sends no id, and the server starts from the beginning.
        if Self.canSend(lastEventID: lastEventID) { fields.set("Last-Event-ID", lastEventID) }
        let message = HTTPRequest(
            url: url,
            method: method,
            headers: fields,
            body: body,
            timeout: .seconds(HTTPRequest.maximumTimeout),
            maximumResponseSize: 0
        )
        if let problem = message.problem {
            throw EventStreamError(.invalidRequest, "Invalid request for an event stream: \(problem).")
        }
        return message
    }
}
