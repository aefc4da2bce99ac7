extension PusherClientError {
    /// Why TLS failed, if that is what this error is about, or what one of its causes is.
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
    /// Why TLS with the backend failed, if that is what this error is about.
    public var tlsFailure: TLSFailure? { cause as? TLSFailure }
}
