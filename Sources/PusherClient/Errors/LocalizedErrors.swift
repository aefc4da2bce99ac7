public import Foundation

extension PusherClientError: LocalizedError {
    /// The message, which is also what `localizedDescription` gives.
    public var errorDescription: String? { message }
}

extension SubscriptionError: LocalizedError {
    /// The message, which is also what `localizedDescription` gives.
    public var errorDescription: String? { message }
}

extension AuthorizationError: LocalizedError {
    /// The message, which is also what `localizedDescription` gives.
    public var errorDescription: String? { message }
}
