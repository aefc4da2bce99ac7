extension PusherClientError {
    /// The failure of TLS, if this error or one of its causes is about TLS.
    public var tlsFailure: TLSFailure? {
        switch cause {
        case let failure as TLSFailure: failure
        case let error as PusherClientError: error.tlsFailure
        case let error as SubscriptionError: (error.cause as? AuthorizationError)?.tlsFailure
        case let error as AuthorizationError: error.tlsFailure
        default: nil
        }
    }
}

extension AuthorizationError {
    /// The failure of TLS with the backend, if such a failure caused this error.
    public var tlsFailure: TLSFailure? { cause as? TLSFailure }
}
