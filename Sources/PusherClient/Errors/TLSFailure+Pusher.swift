extension PusherClientError {
    /// Why TLS failed, if this error or one of its causes is about TLS.
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
    /// Why TLS with the backend failed, if this error is about that.
    public var tlsFailure: TLSFailure? { cause as? TLSFailure }
}
