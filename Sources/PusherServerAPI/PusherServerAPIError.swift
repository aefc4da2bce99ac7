public import Foundation
public import RealtimeNetworking
public import RealtimePrimitives

/// An error of ``PusherServerAPI``.
public struct PusherServerAPIError: Error, Sendable {
    /// The kind of an error. Later versions may add codes, so keep a `default` when you switch over codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code's name, as printed.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The kind of the error.
    public var code: Code
    /// The failure, its reason and a solution, in one line. The message contains no secret.
    public var message: String
    /// The HTTP status of the server's answer; nil without an answer. For a refusal that soketi sends with status 200,
    /// this is the code in the body.
    public var httpStatus: Int?
    /// The underlying error; nil without such an error.
    public var cause: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, httpStatus: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message.escapingControls
        self.httpStatus = httpStatus
        self.cause = cause
    }

    /// The failure of TLS; nil if TLS has not failed.
    public var tlsFailure: TLSFailure? { cause as? TLSFailure }
}

extension PusherServerAPIError.Code {
    // Errors before a request.

    /// A part of the application, of the endpoint or of the options is invalid.
    public static let invalidOption = Self(rawValue: "invalidOption")
    /// The encryption master key is not the base64 of 32 bytes.
    public static let invalidEncryptionKey = Self(rawValue: "invalidEncryptionKey")
    /// An encrypted channel needs ``PusherServerAPI/Application/encryptionMasterKey``.
    public static let missingEncryptionKey = Self(rawValue: "missingEncryptionKey")
    /// An event for an encrypted channel cannot be encrypted, because this build has no libsodium.
    public static let encryptionUnavailable = Self(rawValue: "encryptionUnavailable")
    /// The event's name is empty or has more than 200 bytes.
    public static let invalidEventName = Self(rawValue: "invalidEventName")
    /// The channel's name breaks the server's rules, or the channel is of the wrong kind.
    public static let invalidChannelName = Self(rawValue: "invalidChannelName")
    /// The socket id is not two numbers with a dot between them.
    public static let invalidSocketID = Self(rawValue: "invalidSocketID")
    /// The user's id is empty or has more than 128 bytes, the JSON text has no id, or a presence channel needs a user.
    public static let invalidUser = Self(rawValue: "invalidUser")
    /// The data of the event has more bytes than ``PusherServerAPI/Limits/eventDataSize``.
    public static let dataTooLong = Self(rawValue: "dataTooLong")
    /// The event has no channel, or more channels than ``PusherServerAPI/Limits/channelsPerEvent``.
    public static let invalidChannelCount = Self(rawValue: "invalidChannelCount")
    /// The batch has no event, or more events than ``PusherServerAPI/Limits/eventsPerBatch``.
    public static let invalidBatch = Self(rawValue: "invalidBatch")
    /// JSON cannot represent a value, or there is not enough memory to encrypt an event.
    public static let encodingFailed = Self(rawValue: "encodingFailed")
    /// The webhook's key or signature is missing or wrong, the webhook is too old, or the webhook's body is invalid.
    public static let invalidWebhook = Self(rawValue: "invalidWebhook")

    // Errors without an answer.

    /// The connection failed, or was lost before the answer.
    public static let connectionFailed = Self(rawValue: "connectionFailed")
    /// TLS failed. ``PusherServerAPIError/tlsFailure`` contains the reason.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The server's public key is not in ``TLSOptions/pins``. The library has sent nothing. The error's message contains
    /// the key's pin.
    public static let pinMismatch = Self(rawValue: "pinMismatch")
    /// There was no answer within ``PusherServerAPI/Options/timeout``.
    public static let timedOut = Self(rawValue: "timedOut")
    /// The app has called ``PusherServerAPI/PusherServerAPI/shutdown()``.
    public static let shutDown = Self(rawValue: "shutDown")

    // Errors by the status of the answer.

    /// 400: the server considers the request invalid.
    public static let badRequest = Self(rawValue: "badRequest")
    /// 401: the key, the secret or this machine's clock is wrong.
    public static let unauthorized = Self(rawValue: "unauthorized")
    /// 403: the application is disabled or exceeds its quota.
    public static let forbidden = Self(rawValue: "forbidden")
    /// 404: the server does not know the application or the path.
    public static let notFound = Self(rawValue: "notFound")
    /// 413: the data is too long for the server.
    public static let tooLarge = Self(rawValue: "tooLarge")
    /// 429: the application sends too many requests.
    public static let tooManyRequests = Self(rawValue: "tooManyRequests")
    /// 500 to 599: the server failed.
    public static let serverFailed = Self(rawValue: "serverFailed")
    /// Any other status, or an answer that does not match the API.
    public static let unexpectedAnswer = Self(rawValue: "unexpectedAnswer")
}

/// Two errors are equal if everything but the cause is equal.
extension PusherServerAPIError: Hashable {
    /// Compares everything but the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.httpStatus == right.httpStatus
    }

    /// Hashes the code and the message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension PusherServerAPIError.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { rawValue }
}

extension PusherServerAPIError: ExplainedError, LocalizedError, CustomStringConvertible {
    /// The code and the message in one line.
    public var description: String { "\(code): \(message)" }
    /// The message, for `localizedDescription`.
    public var errorDescription: String? { message }
}
