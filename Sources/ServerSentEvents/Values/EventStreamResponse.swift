import RealtimeHTTP
public import RealtimeNetworking
import RealtimePrimitives

/// The status and header fields of a server's response.
public struct EventStreamResponse: Hashable, Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields, in their order.
    public var headers: HTTPHeaderFields
    /// The URL of the response, if the client followed redirects.
    public var url: String?

    /// Creates a response.
    public init(status: Int, headers: HTTPHeaderFields = [:], url: String? = nil) {
        self.status = status
        self.headers = headers
        self.url = url
    }

    init(_ response: HTTPResponse) {
        self.init(
            status: response.status,
            headers: HTTPHeaderFields(response.headers.fields.map { HTTPHeader(name: $0.name, value: $0.value) }),
            url: response.url
        )
    }

    /// Returns the value of a header field. Names are case-insensitive. Commas join the values of repeated fields.
    public func header(_ name: String) -> String? { headers[name] }

    /// The type of the body in lower case, without parameters.
    var mediaType: String? {
        guard let value = header("Content-Type") else { return nil }
        return value.prefix { $0 != ";" }.split { $0 == " " || $0 == "\t" }.joined(separator: " ").lowercased()
    }
}

extension EventStreamResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status and the content type. Other header fields and the URL may be secret.
    public var description: String { "\(status) \(mediaType?.quoted ?? "without a content type")" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
