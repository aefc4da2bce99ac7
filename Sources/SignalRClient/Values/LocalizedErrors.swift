public import Foundation
public import SignalRCore

extension SignalRError: LocalizedError {
    /// The error's description, which is also its `localizedDescription`.
    public var errorDescription: String? { description }
}

extension SignalRClientError: LocalizedError {
    /// The error's message, which is also its `localizedDescription`.
    public var errorDescription: String? { message }
}

extension HubError: LocalizedError {
    /// The error's message, which is also its `localizedDescription`.
    public var errorDescription: String? { message }
}
