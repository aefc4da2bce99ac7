package import NIOCore

/// Makes HTTP requests whose responses are read piece by piece.
package protocol HTTPStreamer: Sendable {
    /// Sends a request, and follows redirects as browsers do. The request's timeout and the maximum size of its
    /// response are ignored.
    ///
    /// - Parameters:
    ///   - eventLoop: Where events are reported, the first one in another turn of the loop.
    ///   - receive: Called with the response, its body, and one of ``HTTPStreamEvent/end`` and
    ///     ``HTTPStreamEvent/failed(_:)``.
    func stream(
        _ request: HTTPRequest,
        redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream
}

package struct HTTPStreamRedirects: Hashable, Sendable {
    package var maximum: Int
    /// Whether a redirect may lead from `https` to `http`.
    package var leavesTLS: Bool

    package init(maximum: Int, leavesTLS: Bool) {
        self.maximum = maximum
        self.leavesTLS = leavesTLS
    }
}

package enum HTTPStreamEvent: Sendable {
    /// Status and header fields, without the body.
    case head(HTTPResponse)
    case body(ByteBuffer)
    /// The body is complete.
    case end
    case failed(HTTPRequestError)
}

/// A response that is being read. Called on the event loop of its events.
package protocol HTTPStream: Sendable {
    /// Whether the body is read from the socket. True at first. Data may still arrive after this was set to false.
    func setReading(_ isReading: Bool)

    /// Ends the request and its connection. No events are reported afterwards.
    func cancel()
}
