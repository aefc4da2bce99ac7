public import Foundation
public import RealtimeNetworking
public import RealtimePrimitives

/// An error of ``PusherServerAPI``.
public struct PusherServerAPIError: Error, Sendable {
    /// The kind of an error. New codes may come with new versions: keep a `default` when you switch over them.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code's name, as it is printed.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The kind of the error.
    public var code: Code
    /// What failed and why, with the solution, in one line. It contains no secret.
    public var message: String
    /// The HTTP status of the server's answer, if there was one.
    public var status: Int?
    /// The error underneath, if there is one.
    public var cause: (any Error)?

    /// Makes an error.
    public init(_ code: Code, _ message: String, status: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message.escapingControls
        self.status = status
        self.cause = cause
    }

    /// Why TLS failed, if the error is about that.
    public var tlsFailure: TLSFailure? { cause as? TLSFailure }
}

extension PusherServerAPIError.Code {
    // Before a request is made.

    /// A part of the application or of the endpoint is invalid.
    public static let invalidOption = Self(rawValue: "invalidOption")
    /// The encryption master key is not the base64 of 32 bytes.
    public static let invalidEncryptionKey = Self(rawValue: "invalidEncryptionKey")
    /// An encrypted channel needs ``PusherServerAPI/Application/encryptionMasterKey``.
    public static let missingEncryptionKey = Self(rawValue: "missingEncryptionKey")
    /// The event's name is empty or has more than 200 bytes.
    public static let invalidEventName = Self(rawValue: "invalidEventName")
    /// The channel's name breaks the server's rules, or the channel is of the wrong kind.
    public static let invalidChannelName = Self(rawValue: "invalidChannelName")
    /// The socket id is not two numbers with a dot between them.
    public static let invalidSocketID = Self(rawValue: "invalidSocketID")
    /// The user's id is empty or has more than 128 bytes, or the JSON text has none.
    public static let invalidUser = Self(rawValue: "invalidUser")
    /// The data of the event has more bytes than ``PusherServerAPI/Limits/eventDataSize``.
    public static let dataTooLong = Self(rawValue: "dataTooLong")
    /// The event has no channel, or more than ``PusherServerAPI/Limits/channelsPerEvent``.
    public static let invalidChannelCount = Self(rawValue: "invalidChannelCount")
    /// The batch has no event, or more than ``PusherServerAPI/Limits/eventsPerBatch``.
    public static let invalidBatch = Self(rawValue: "invalidBatch")
    /// A value cannot be written as JSON.
    public static let encodingFailed = Self(rawValue: "encodingFailed")
    /// The webhook does not come from the server: its key or its signature is wrong, or its body is invalid.
    public static let invalidWebhook = Self(rawValue: "invalidWebhook")

    // Without an answer.

    /// There was no connection, or it was lost before the answer.
    public static let connectionFailed = Self(rawValue: "connectionFailed")
    /// TLS failed; ``PusherServerAPIError/tlsFailure`` says why.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// There was no answer within ``PusherServerAPI/Options/timeout``.
    public static let timedOut = Self(rawValue: "timedOut")
    /// ``PusherServerAPI/PusherServerAPI/shutdown()`` was called.
    public static let shutDown = Self(rawValue: "shutDown")

    // By the status of the answer.

    /// 400: the server does not understand the request.
    public static let badRequest = Self(rawValue: "badRequest")
    /// 401: the key, the secret or the clock is wrong.
    public static let unauthorized = Self(rawValue: "unauthorized")
    /// 403: the application is disabled, or over its quota.
    public static let forbidden = Self(rawValue: "forbidden")
    /// 404: the server does not know the application or the path.
    public static let notFound = Self(rawValue: "notFound")
    /// 413: the data is too long for the server.
    public static let tooLarge = Self(rawValue: "tooLarge")
    /// 429: the server gets too many requests.
    public static let tooManyRequests = Self(rawValue: "tooManyRequests")
    /// 500 to 599: the server failed.
    public static let serverFailed = Self(rawValue: "serverFailed")
    /// Any other status, or an answer that does not fit the API.
    public static let unexpectedAnswer = Self(rawValue: "unexpectedAnswer")
}

/// Two errors are equal if everything but the cause is equal.
extension PusherServerAPIError: Hashable {
    /// Compares everything but the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.status == right.status
    }

    /// Hashes code and message.
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
    /// Code and message in one line.
    public var description: String { "\(code): \(message)" }
    /// The message: what `localizedDescription` returns.
    public var errorDescription: String? { message }
}
