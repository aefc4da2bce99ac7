public import Foundation
import RealtimeHTTP
public import RealtimeNetworking
public import RealtimePrimitives

/// An error of an event stream.
public struct EventStreamError: Error, Sendable {
    /// The kind of an error. Later versions may add codes, so keep a `default` case when you switch over codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code, as `print` shows it.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The kind of the error.
    public var code: Code
    /// The failed operation and the reason, in one line.
    public var message: String
    /// The server's response; `nil` if the error does not concern a response.
    public var response: EventStreamResponse?
    /// The first 64 KiB of the body of ``response``, if the response is not an event stream. Many APIs explain a
    /// refusal in the body.
    public var body: [UInt8]
    /// The id of the last event that had an id, if the connection was lost; empty if no event had one.
    public var lastEventID: String
    /// The event that could not be decoded; `nil` for other errors.
    public var event: ServerSentEvent?
    /// The server's URL without user, password and query; `nil` if the error does not concern a server.
    public var address: String?
    /// The underlying error, for example of the operating system; `nil` if there is none.
    public var cause: (any Error)?

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        response: EventStreamResponse? = nil,
        body: [UInt8] = [],
        lastEventID: String = "",
        event: ServerSentEvent? = nil,
        address: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message.escapingControls
        self.response = response
        self.body = body
        self.lastEventID = lastEventID
        self.event = event
        self.address = address
        self.cause = cause
    }

    /// The HTTP status of ``response``.
    public var httpStatus: Int? { response?.status }

    /// ``body`` as text.
    public var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// The reason why TLS failed; `nil` if the error does not concern TLS.
    public var tlsFailure: TLSFailure? { cause as? TLSFailure }
}

extension EventStreamError.Code {
    /// The request is invalid, for example because its URL is not an `http` or `https` URL.
    public static let invalidRequest = Self(rawValue: "invalidRequest")
    /// The server's public key is not in ``TLSOptions/pins``. The client has sent nothing. The error's message contains
    /// the key's pin.
    public static let pinMismatch = Self(rawValue: "pinMismatch")
    /// The app's closure that makes the requests threw an error, which is the ``EventStreamError/cause``.
    public static let requestFailed = Self(rawValue: "requestFailed")
    /// The stream has been iterated before.
    public static let alreadyIterated = Self(rawValue: "alreadyIterated")

    /// The time limit of ``EventStream/connected(timeout:)`` or ``EventStream/closed(timeout:)`` is over.
    public static let waitTimedOut = Self(rawValue: "waitTimedOut")
    /// Your code has closed the stream, or the stream is complete.
    public static let connectionClosed = Self(rawValue: "connectionClosed")

    /// The connection failed, or was lost before there was a response.
    public static let connectionFailed = Self(rawValue: "connectionFailed")
    /// TLS failed. ``EventStreamError/tlsFailure`` contains the reason.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The client did not connect within the time that the ``EventStreamConnector`` allows.
    public static let connectionTimedOut = Self(rawValue: "connectionTimedOut")
    /// The server did not respond within ``EventStreamOptions/responseTimeout``.
    public static let responseTimedOut = Self(rawValue: "responseTimedOut")
    /// The server's redirect has no location or a forbidden location, or exceeds the maximum number of redirects.
    public static let redirectRefused = Self(rawValue: "redirectRefused")
    /// The server answered with a status other than 200 and 204. Status 202 without content is not an error.
    public static let unexpectedStatus = Self(rawValue: "unexpectedStatus")
    /// The server answered with something other than an event stream.
    public static let invalidContentType = Self(rawValue: "invalidContentType")

    /// The response ended, or the connection was lost.
    public static let connectionLost = Self(rawValue: "connectionLost")
    /// The server sent nothing for ``EventStreamOptions/idleTimeout``.
    public static let idleTimedOut = Self(rawValue: "idleTimedOut")
    /// An event, or a body that is one event, was larger than ``EventStreamOptions/maximumMessageSize``.
    public static let messageTooBig = Self(rawValue: "messageTooBig")
    /// The data of the event ``EventStreamError/event`` could not be decoded.
    public static let decodingFailed = Self(rawValue: "decodingFailed")
}

extension EventStreamError.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { rawValue }
}

/// Two errors are equal if all their properties except the cause are equal.
extension EventStreamError: Hashable {
    /// Compares all properties except the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.response == right.response
            && left.body == right.body && left.lastEventID == right.lastEventID && left.event == right.event
            && left.address == right.address
    }

    /// Hashes code and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension EventStreamError: ExplainedError, LocalizedError, CustomStringConvertible, CustomReflectable {
    /// Code and message in one line.
    public var description: String { "\(code): \(message)" }
    /// The message, which `localizedDescription` returns.
    public var errorDescription: String? { message }
    /// An empty mirror, so that `dump` shows no secrets of the response.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension EventStreamError {
    /// - Parameter isOpen: Whether the error occurred after the start of the response.
    init(_ error: HTTPRequestError, isOpen: Bool) {
        let tls = error.cause as? TLSFailure
        let code: Code =
            switch error.kind {
            case .invalidRequest: .invalidRequest
            case .pinMismatch: .pinMismatch
            case .redirectRefused: .redirectRefused
            case _ where isOpen: .connectionLost
            case .timedOut: .connectionTimedOut
            case .failed, .shutDown: tls == nil ? .connectionFailed : .tlsFailed
            }
        // The reason names the URL of an invalid request.
        let url = error.kind == .invalidRequest ? nil : error.url
        let place = url.map { " to \(HTTPRequest.printable(url: $0))" } ?? ""
        let what = isOpen ? "lost" : "failed"
        let advice =
            switch code {
            case _ where isOpen: ""
            default: error.adviceAboutTLS(for: url ?? "")
            }
        self.init(code, "Connection\(place) \(what): \(error.message).\(advice)", cause: error.cause)
    }

    /// Whether another attempt with the same request would fail for the same reason.
    var isPermanent: Bool {
        switch code {
        case .invalidRequest, .pinMismatch, .redirectRefused, .invalidContentType, .unexpectedStatus, .messageTooBig:
            true
        case .tlsFailed:
            switch tlsFailure?.code {
            case .connectionEnded?, .corrupted?, .other?, nil: false
            default: true
            }
        default: false
        }
    }
}
