extension ConnectionStateMachine {
    /// What an attempt connects to: the endpoint, over TLS once the server has said that it takes nothing else.
    func target(_ configuration: CoreConfiguration) -> Result<TransportRequest, PusherClientError> {
        configuration.endpoint.map { mustUseTLS ? $0.overTLS : $0 }
    }
}

extension TransportRequest {
    /// The same server over TLS: on the port given, or 443 where it was 80.
    fileprivate var overTLS: TransportRequest {
        var request = self
        request.useTLS = true
        if request.port == 80 { request.port = 443 }
        return request
    }
}
