package import NIOCore

/// Makes HTTP requests, and reports their responses piece by piece.
package protocol HTTPStreamer: Sendable {
    /// Sends a request, and follows redirects to any origin. The request's timeout and the maximum size of the
    /// response do not apply to streams.
    ///
    /// - Parameters:
    ///   - eventLoop: The loop that reports events. No event arrives during this call.
    ///   - receive: A closure that gets the response, its body, and finally ``HTTPStreamEvent/end`` or
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
    /// The names of the header fields that the app allows for other origins.
    package var headersForOtherOrigins: Set<String>

    package init(maximum: Int, leavesTLS: Bool, headersForOtherOrigins: Set<String> = []) {
        self.maximum = maximum
        self.leavesTLS = leavesTLS
        self.headersForOtherOrigins = headersForOtherOrigins
    }
}

package enum HTTPStreamEvent: Sendable {
    /// The status and the header fields, without the body.
    case head(HTTPResponse)
    case body(ByteBuffer)
    /// The body is complete.
    case end
    case failed(HTTPRequestError)
}

/// A response that the client is reading. Call its methods only on the event loop that reports the events.
package protocol HTTPStream: Sendable {
    /// Sets whether the client reads the body from the socket. At first, the client reads the body. Data may still
    /// arrive after the client has stopped reading. The stream reports no event within the call.
    func setReading(_ isReading: Bool)

    /// Cancels the request, and closes its connection. Afterwards, the stream reports no events.
    func cancel()
}
