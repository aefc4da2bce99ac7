public import Foundation

extension PusherClientError: LocalizedError {
    /// The error's message, which is also its `localizedDescription`.
    public var errorDescription: String? { message }
}

extension SubscriptionError: LocalizedError {
    /// The error's message, which is also its `localizedDescription`.
    public var errorDescription: String? { message }
}

extension AuthorizationError: LocalizedError {
    /// The error's message, which is also its `localizedDescription`.
    public var errorDescription: String? { message }
}
