package import RealtimeNetworking

extension TLSOptions {
    /// Rejects requests if keys are pinned. The HTTP client does not give access to the server's certificate before it
    /// sends a request, so a false server would get the request's secrets. The rule applies to all hosts and to plain
    /// HTTP: a host that the client cannot check may be false.
    ///
    /// - Throws: An error of the kind `pinsUnchecked`.
    package func checkPins(forRequestTo url: String) throws(HTTPRequestError) {
        if pins.isEmpty { return }
        throw HTTPRequestError(
            .pinsUnchecked,
            "tls.pins cannot be checked for '\(HTTPRequest.printable(url: url))', because the client checks pins for "
                + "WebSockets only"
        )
    }
}
