import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import RealtimeHTTP

/// Checks that a request has the same result for every split of the server's bytes, and leaves no connection behind. If
/// the connection is kept, the next request over it must get its own answer, or fail.
///
/// Input: a byte for the number of lengths, a byte for the length of each piece, a byte with the method and whether the
/// server closes the connection, and the server's bytes. In these bytes, `{pad}` stands for 1,000 bytes.
enum HTTPResponseTarget {
    private static let methods = ["GET", "HEAD", "POST", "PUT"]

    private struct Outcome: Equatable {
        var head: HTTPResponse?
        var body: [UInt8] = []
        /// `end`, the text of an error, or nil if the response is not complete.
        var end: String?
    }

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let flags = reader.byte()
        let bytes = reader.remaining().padded
        let method = methods[Int(flags) % methods.count]
        let closes = flags & 0x80 != 0
        let whole = outcome(of: [bytes], method, closes: closes)
        for pieces in [bytes.pieces(lengths), bytes.map { [$0] }] {
            let split = outcome(of: pieces, method, closes: closes)
            require(split == whole, "the pieces give \(split), not \(whole)")
        }
        require(!closes || whole.end != nil, "the request does not end with its connection")
        require(method != "HEAD" || whole.body.isEmpty, "a response to HEAD has a body")
        require(whole.body.count <= bytes.count, "the body has more bytes than the server sent")
        require((whole.end?.utf8.count ?? 0) < 500, "the error has \(whole.end?.utf8.count ?? 0) bytes")
    }

    private static func outcome(of pieces: [[UInt8]], _ method: String, closes: Bool) -> Outcome {
        let loop = EmbeddedEventLoop()
        let channel = EmbeddedChannel(loop: loop)
        if let address { channel.connect(to: address, promise: nil) }
        let requester = PooledHTTPRequester(on: loop) { channel }
        let (stream, result) = send(method, over: requester, on: loop)
        loop.run()
        loop.advanceTime(by: .nanoseconds(1))
        for piece in pieces where channel.isActive { _ = try? channel.writeInbound(ByteBuffer(bytes: piece)) }
        let outcome: Outcome
        if channel.isActive, result.withLockedValue({ $0.end == "end" }) {
            outcome = result.withLockedValue { $0 }
            sendAgain(over: requester, channel, loop)
            if closes { channel.close(promise: nil) }
            loop.run()
        } else {
            if closes { channel.close(promise: nil) }
            loop.run()
            outcome = result.withLockedValue { $0 }
        }
        stream.cancel()
        requester.shutdown()
        loop.run()
        require(!channel.isActive, "the connection stays open")
        _ = try? channel.finish(acceptAlreadyClosed: true)
        return outcome
    }

    private static func send(
        _ method: String,
        over requester: PooledHTTPRequester,
        on loop: EmbeddedEventLoop
    ) -> (any HTTPStream, NIOLockedValueBox<Outcome>) {
        let result = NIOLockedValueBox(Outcome())
        var request = HTTPRequest(
            url: "http://server.test/",
            method: method,
            body: method == "POST" ? [1] : nil,
            timeout: .seconds(10),
            maximumResponseSize: 0
        )
        request.sharesConnection = true
        let stream = requester.stream(request, redirects: .init(maximum: 0, leavesTLS: false), on: loop) { event in
            result.withLockedValue { result in
                require(result.end == nil, "there is an event after the end")
                switch event {
                case .head(let head):
                    require(result.head == nil, "there are two heads")
                    result.head = head
                case .body(let bytes): result.body += bytes.readableBytesView
                case .end: result.end = "end"
                case .failed(let error): result.end = error.message
                }
            }
        }
        return (stream, result)
    }

    /// Sends a second request over a kept connection.
    private static func sendAgain(
        over requester: PooledHTTPRequester,
        _ channel: EmbeddedChannel,
        _ loop: EmbeddedEventLoop
    ) {
        let (stream, result) = send("GET", over: requester, on: loop)
        loop.run()
        loop.advanceTime(by: .nanoseconds(1))
        if channel.isActive {
            _ = try? channel.writeInbound(ByteBuffer(string: "HTTP/1.1 203 Known\r\nContent-Length: 5\r\n\r\nknown"))
        }
        let second = result.withLockedValue { $0 }
        stream.cancel()
        guard second.end == "end" else { return }
        let head = HTTPResponse(status: 203, headers: ["Content-Length": "5"])
        let expected = Outcome(head: head, body: Array("known".utf8), end: "end")
        require(second == expected, "the next request got \(second)")
    }

    private static let address = try? SocketAddress(ipAddress: "127.0.0.1", port: 80)
}
