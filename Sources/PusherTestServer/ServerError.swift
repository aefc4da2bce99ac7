public import Foundation

extension PusherTestServer {
    /// An error of the server's methods.
    public struct ServerError: Error, Sendable, LocalizedError, CustomStringConvertible {
        /// The kind of error. Later versions may add codes, so keep a `default` when you switch over codes.
        public struct Code: RawRepresentable, Hashable, Sendable {
            /// The code's name, as printed.
            public let rawValue: String

            /// Creates a code from its name.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The server could not listen on the address.
            public static let bindFailed = Self(rawValue: "bindFailed")
            /// The certificate chain or the key is invalid, or the key belongs to another certificate.
            public static let invalidCertificate = Self(rawValue: "invalidCertificate")
            /// ``Options/encryptionMasterKey`` is not the base64 of 32 bytes.
            public static let invalidEncryptionKey = Self(rawValue: "invalidEncryptionKey")
            /// Two options contradict each other.
            public static let invalidOption = Self(rawValue: "invalidOption")
            /// An event for an encrypted channel cannot be encrypted, because this build has no libsodium.
            public static let encryptionUnavailable = Self(rawValue: "encryptionUnavailable")
            /// A recording or one of its lines is invalid, or the file cannot be read.
            public static let invalidRecording = Self(rawValue: "invalidRecording")
            /// A wait ended before the condition was met.
            public static let waitTimedOut = Self(rawValue: "waitTimedOut")
            /// The event's name, one of its channels, their number, or an id breaks the protocol's rules.
            public static let invalidEvent = Self(rawValue: "invalidEvent")
            /// A fake member cannot join the channel.
            public static let invalidMember = Self(rawValue: "invalidMember")
        }

        /// The kind of error.
        public var code: Code
        /// The failure and its reason, with the invalid value.
        public var message: String
        /// The underlying error; nil without such an error.
        public var cause: (any Error)?

        /// Creates an error.
        public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
            self.code = code
            self.message = message
            self.cause = cause
        }

        /// The code, the message and the cause.
        public var description: String {
            "\(code.rawValue): \(message)" + (cause.map { " (\($0))" } ?? "")
        }
        /// The message, which is also the error's `localizedDescription`.
        public var errorDescription: String? { message }
    }
}
