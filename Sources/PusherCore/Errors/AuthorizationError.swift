import Dispatch
public import RealtimePrimitives

/// The reason why an authorization of a channel or of the user failed.
///
/// It is the cause of a ``SubscriptionError``, or of what ``Pusher/signedIn(timeout:)`` throws. The closure of ``AuthMethod/authorizer(_:)``
/// may throw it, to say what the backend answered and whether asking again can help; whatever else it throws
/// becomes the cause of one of kind ``Kind-swift.struct/authorizerFailed``.
public struct AuthorizationError: Error, Sendable {
    /// The kind of failure. New kinds may come with new versions: keep a `default` when you switch over them.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kind's name, as it is printed.
        public let rawValue: String

        /// Makes a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No method is set: ``AuthMethod/noMethod``.
        public static let noMethod = Self(rawValue: "noMethod")
        /// No request could be made, for example because the URL is invalid.
        public static let invalidRequest = Self(rawValue: "invalidRequest")
        /// The request got no answer, because of the network, TLS, or a timeout.
        public static let requestFailed = Self(rawValue: "requestFailed")
        /// The endpoint redirected to another scheme, host or port, to something that is not an http or https URL, or
        /// too often. The redirect was not followed. If it was to another origin, the message names both.
        public static let redirectRefused = Self(rawValue: "redirectRefused")
        /// The backend answered with a status other than 2xx.
        public static let refused = Self(rawValue: "refused")
        /// The answer lacks a required part, or has it in an unusable form.
        public static let invalidResponse = Self(rawValue: "invalidResponse")
        /// The authorizer did not answer in ``PusherTimeouts/authorization``.
        public static let timedOut = Self(rawValue: "timedOut")
        /// The authorizer returned nil, or threw another error.
        public static let authorizerFailed = Self(rawValue: "authorizerFailed")
    }

    /// Whether to try again.
    public enum Recovery: Hashable, Sendable {
        /// Another try would not help.
        case none
        /// At once, and only once. It does not count toward the limit of tries. Use it if a provider may return a fresh
        /// token.
        case askOnceMore
        /// After the wait of ``PusherClientOptions/authorizationRetryPolicy``, but not before this time, and at most
        /// ``PusherClientOptions/Limits-swift.struct/authorizationTries`` times.
        case retry(after: Duration)
    }

    /// What went wrong.
    public var kind: Kind
    /// The problem and its solution, in one line. It contains no secrets, and shows control characters of a server's
    /// text by their escapes.
    public var message: String
    /// The HTTP status of the answer, if there was one.
    public var httpStatus: Int?
    /// The URL that answered, or should have, without its query. After redirects, it is the last one.
    public var url: String?
    /// The header fields of the answer, except fields whose names suggest credentials: cookies, tokens, keys, the
    /// places of redirects and the like. At most 64 fields, without those whose names have more than 200 bytes, and
    /// with values cut to 1,000 bytes.
    public var httpHeaders: [String: String]
    /// The body of a refusal, cut to 10,000 bytes; nil for answers of 2xx, which may hold signatures.
    public var body: String?
    /// Whether another try can help. Default: no.
    public var recovery: Recovery
    /// The error underneath. While a channel or the sign-in has failed because of it, the client retains it, with
    /// everything it refers to.
    public var cause: (any Error)? {
        get { foreign?.error }
        set { foreign = newValue.map(ForeignError.init) }
    }

    private var foreign: ForeignError?

    /// Makes an error.
    public init(
        _ kind: Kind,
        _ message: String,
        url: String? = nil,
        httpStatus: Int? = nil,
        httpHeaders: [String: String] = [:],
        body: String? = nil,
        recovery: Recovery = .none,
        cause: (any Error)? = nil
    ) {
        self.kind = kind
        self.message = message.escapingControls
        self.url = url
        self.httpStatus = httpStatus
        self.httpHeaders = httpHeaders
        self.body = body
        self.recovery = recovery
        self.cause = cause
    }
}

extension AuthorizationError.Kind: CustomStringConvertible {
    /// The kind's name.
    public var description: String { rawValue }
}

/// Two errors are equal if everything but the cause is equal.
extension AuthorizationError: Hashable {
    /// Compares everything but the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.message == right.message && left.url == right.url
            && left.httpStatus == right.httpStatus
            && left.httpHeaders == right.httpHeaders && left.body == right.body && left.recovery == right.recovery
    }

    /// Hashes kind and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(message)
    }
}

extension AuthorizationError: ExplainedError, CustomStringConvertible {
    /// Kind, message and status in one line.
    public var description: String {
        ("\(kind): \(message)" + (httpStatus.map { " (HTTP status \($0))" } ?? "")).escapingControls
    }
}

/// An error that may come from your code. Releasing the objects that it refers to may call the client, and the client
/// may release it under a lock. So it is released on another thread.
private final class ForeignError: Sendable {
    private final class Box: Sendable {
        let error: any Error

        init(_ error: any Error) { self.error = error }
    }

    /// The address of the box, which this object retains. A strong reference could be the last one when this object is
    /// freed.
    private let address: UInt

    init(_ error: any Error) {
        address = UInt(bitPattern: Unmanaged.passRetained(Box(error)).toOpaque())
    }

    deinit {
        let address = address
        DispatchQueue.global().async { Self.box(at: address)?.release() }
    }

    var error: (any Error)? { withExtendedLifetime(self) { Self.box(at: address)?.takeUnretainedValue().error } }

    private static func box(at address: UInt) -> Unmanaged<Box>? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged.fromOpaque($0) }
    }
}
