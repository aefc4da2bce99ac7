import Dispatch
public import RealtimePrimitives

/// The reason why an authorization of a channel or of the user failed.
///
/// The error is the cause of a ``SubscriptionError``, or of the error that ``Pusher/signedIn(timeout:)`` throws. The
/// closure of ``AuthMethod/authorizer(_:)`` can throw this error with the backend's answer. The error's ``recovery``
/// determines whether the client tries again. If the closure throws another error, the client makes an error with the
/// code ``Code-swift.struct/authorizerFailed``, with the other error as its cause, and tries again.
public struct AuthorizationError: Error, Sendable {
    /// The code of a failure. Later versions may add codes, so keep a `default` when you switch over them.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code's printed name.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The options have no method: ``AuthMethod/noMethod``.
        public static let noMethod = Self(rawValue: "noMethod")
        /// The client could not make a request, for example because the URL is invalid.
        public static let invalidRequest = Self(rawValue: "invalidRequest")
        /// The request got no answer, because of the network, TLS, or a timeout.
        public static let requestFailed = Self(rawValue: "requestFailed")
        /// The client did not follow a redirect. The redirect led to another scheme, host or port, its URL was invalid,
        /// or there were too many redirects. If the redirect was to another origin, the message names both origins.
        public static let redirectRefused = Self(rawValue: "redirectRefused")
        /// The backend answered with a status other than 2xx.
        public static let refused = Self(rawValue: "refused")
        /// A required part of the answer is missing or unusable.
        public static let invalidResponse = Self(rawValue: "invalidResponse")
        /// The authorizer did not answer within ``PusherTimeouts/authorization``.
        public static let timedOut = Self(rawValue: "timedOut")
        /// The authorizer returned nil, or threw an error of another type.
        public static let authorizerFailed = Self(rawValue: "authorizerFailed")
    }

    /// Whether the client tries again.
    public enum Recovery: Hashable, Sendable {
        /// The client does not try again.
        case none
        /// The client tries again at once, but only once. This try does not count toward the limit of tries.
        /// Use this case if a token provider may return a fresh token for this try.
        case askOnceMore
        /// The client tries again after the wait of ``PusherClientOptions/requestRetryPolicy``, but not before this
        /// time. It does so until it gets an authorization, as long as it is connected and the app wants the channel.
        /// ``PusherClientOptions/Limits-swift.struct/authorizationTries`` can limit the number of tries.
        case retry(after: Duration)
    }

    /// The code of the failure.
    public var code: Code
    /// The problem and its solution, in one line. The message contains no secrets, and shows control characters from
    /// the server as escapes.
    public var message: String
    /// The HTTP status of the answer, if there was one.
    public var httpStatus: Int?
    /// The URL of the request without its query. After redirects, this is the last URL.
    public var address: String?
    /// The header fields of the answer, without cookies, the targets of redirects, and other fields whose names suggest
    /// credentials. The error has at most 64 fields, with names of at most 200 bytes. The client cuts values to 1,000
    /// bytes.
    public var httpHeaders: [String: String]
    /// The body of a refusal, or of an answer without a usable signature, cut to 10,000 bytes. If the status is 2xx, the
    /// text `(hidden)` replaces values whose names suggest credentials or a person's data, and words of 32 bytes or more,
    /// because they may be signatures. Nil if the answer was compressed.
    public var body: String?
    /// Whether the client should try again. Default: `Recovery.none`.
    public var recovery: Recovery
    /// The underlying error. The client retains the cause, and its objects, as long as a failed channel or sign-in
    /// refers to this error.
    public var cause: (any Error)? {
        get { foreign?.error }
        set { foreign = newValue.map(ForeignError.init) }
    }

    private var foreign: ForeignError?

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        address: String? = nil,
        httpStatus: Int? = nil,
        httpHeaders: [String: String] = [:],
        body: String? = nil,
        recovery: Recovery = .none,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message.escapingControls
        self.address = address
        self.httpStatus = httpStatus
        self.httpHeaders = httpHeaders
        self.body = body
        self.recovery = recovery
        self.cause = cause
    }
}

extension AuthorizationError.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { rawValue }
}

/// Two errors are equal if everything except the cause is equal.
extension AuthorizationError: Hashable {
    /// Compares everything except the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.address == right.address
            && left.httpStatus == right.httpStatus
            && left.httpHeaders == right.httpHeaders && left.body == right.body && left.recovery == right.recovery
    }

    /// Hashes the code and the message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension AuthorizationError: ExplainedError, CustomStringConvertible, CustomReflectable {
    /// The code, the message and the status in one line.
    public var description: String {
        ("\(code): \(message)" + (httpStatus.map { " (HTTP status \($0))" } ?? "")).escapingControls
    }
    /// An empty mirror, so that `dump` does not show the header fields and the body of an answer.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// An error that may come from the app. When the error is released, deinitializers of the app may call the client. The
/// client may hold a lock at that time, so another thread releases the error.
private final class ForeignError: Sendable {
    private final class Box: Sendable {
        let error: any Error

        init(_ error: any Error) { self.error = error }
    }

    /// The object keeps an address instead of a strong reference. Otherwise, freeing the object could free the error on
    /// the current thread, which may hold a lock.
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
