import ClientTestSupport
import NIOCore
import NIOEmbedded
import PusherProtocol
import RealtimeHTTP
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("An HTTP transport", .limited)
struct HTTPTransportTests {
    /// A connection with a streamer whose requests the test answers.
    private final class Connection {
        let loop = EmbeddedEventLoop()
        let streamer = ScriptedStreamer()
        let log = Log<String>()
        let connection: any TransportConnection

        init(
            _ mode: HTTPSessionStateMachine.Mode,
            limits: HTTPTransport.Limits = .init(),
            onText: @escaping @Sendable (String) -> Void = { _ in }
        ) {
            let transport = HTTPTransport(mode, over: streamer, limits: limits)
            let request = TransportRequest(
                host: "server.test",
                port: 6_001,
                useTLS: true,
                path: "/app/key?protocol=7",
                headers: [.init(name: "X-Tenant", value: "7")],
                http: HTTPTransportAddress(host: "::1", port: 8_443, path: "/pusher/app/key", query: "protocol=7")
            )
            connection = transport.open(request, on: loop) { [log] event in
                switch event {
                case .opened: log.append("opened")
                case .retryAfter: log.append("retry after")
                case .text(let bytes):
                    let text = bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
                    log.append(text)
                    onText(text)
                case .binary: log.append("binary")
                case .activity: log.append("activity")
                case .readComplete: log.append("read")
                case .closed(let closure):
                    log.append(
                        "closed \(closure.code?.rawValue ?? 0) \(closure.error?.code.rawValue ?? closure.reason)"
                    )
                }
            }
        }

        // Session, streamer and exchanges retain each other until the connection ends.
        deinit {
            connection.abort()
            loop.run()
        }

        var last: ScriptedStreamer.Exchange { get throws { try #require(streamer.exchanges.last) } }

        /// Opens the session, and lets it request a second response for a handover.
        func openForHandover() throws -> (ScriptedStreamer.Exchange, ScriptedStreamer.Exchange) {
            try open()
            let first = try last
            first.body(Self.longFrame)
            _ = log.take()
            return (first, try last)
        }

        static let longFrame = "a[\"\(String(repeating: "x", count: 300_000))\"]\n"

        /// Opens the session with the first response.
        func open() throws {
            loop.run()
            try last.head()
            try last.body("o\n")
            #expect(log.take().contains("opened"))
        }
    }

    @Test("the transport sends POST requests with the app's headers to the address for HTTP transports")
    func requests() throws {
        let connection = Connection(.streaming)
        #expect(connection.streamer.exchanges.isEmpty)
        connection.loop.run()
        let request = try connection.last.request
        #expect(request.url.hasPrefix("https://[::1]:8443/pusher/app/key/"))
        #expect(request.url.contains("/xhr_streaming?protocol=7&t="))
        #expect(request.method == "POST" && request.body == [])
        #expect(request.headers["Content-Type"] == "application/json" && request.headers["X-Tenant"] == "7")
        connection.connection.abort()
        #expect(try connection.last.isCancelled)
        #expect(connection.log.elements.isEmpty)
    }

    @Test("the transport delivers messages one by one, and reports each piece as one read")
    func messages() throws {
        let connection = Connection(.streaming)
        try connection.open()
        try connection.last.body("a[\"one\",\"two\"]\na[\"th")
        #expect(connection.log.take() == ["one", "two", "read"])
        try connection.last.body("r")
        #expect(connection.log.take() == ["activity", "read"])
        try connection.last.body("ee\"]\nm\"four\"\n")
        #expect(connection.log.take() == ["three", "four", "read"])
        try connection.last.body("a[]\n")
        #expect(connection.log.take() == ["activity", "read"])
        connection.connection.abort()
    }

    @Test("the promise of a message succeeds when the server answers its request")
    func sending() throws {
        let connection = Connection(.polling)
        try connection.open()
        let done = Log<String>()
        for text in ["a", "b", "c"] {
            let promise = connection.loop.makePromise(of: Void.self)
            promise.futureResult.whenComplete { result in
                done.append("\(text) \((try? result.get()) == nil ? "failed" : "sent")")
            }
            connection.connection.send(text, promise: promise)
            connection.connection.flush()
        }
        let first = try connection.last
        #expect(first.verb == "xhr_send" && first.body == #"["a"]"#)
        #expect(!first.request.url.contains("protocol"))
        #expect(done.elements.isEmpty)
        first.head(204)
        #expect(done.elements.isEmpty)
        first.give(.end)
        #expect(done.take() == ["a sent"])
        #expect(try connection.last.body == #"["b","c"]"#)
        try connection.last.head(404)
        try connection.last.give(.end)
        #expect(done.take() == ["b failed", "c failed"])
        #expect(connection.log.take().last == "closed 0 connectionClosed")
        let late = connection.loop.makePromise(of: Void.self)
        connection.connection.send("d", promise: late)
        #expect(throws: PusherClientError.self) { try late.futureResult.wait() }
    }

    @Test("the transport delivers data of the next response when the first response has ended")
    func handover() throws {
        let connection = Connection(.streaming)
        let (first, second) = try connection.openForHandover()
        #expect(second !== first)
        second.head()
        second.body("hhhh\n")
        #expect(second.isReading)
        second.body("a[\"two\"]\n")
        #expect(!second.isReading)
        second.body("a[\"three\"]\n")
        #expect(connection.log.take() == [])
        first.body("a[\"one\"]\n")
        first.give(.end)
        connection.loop.run()
        #expect(connection.log.take() == ["one", "read", "activity", "read", "two", "read", "three", "read"])
        #expect(second.isReading && connection.streamer.exchanges.contains { $0.body == "[]" })
        connection.connection.abort()
    }

    @Test("no message is lost if the server refuses a handover")
    func refusedHandover() throws {
        let connection = Connection(.streaming)
        let (first, second) = try connection.openForHandover()
        second.head()
        // Each part arrives in a separate read.
        for part in ["hhhh\n", "c[2010,\"Another", " connection still open\"]\n"] {
            #expect(second.isReading && !second.isCancelled)
            second.body(part)
        }
        #expect(second.isCancelled)
        first.body("a[\"one\"]\n")
        #expect(connection.log.take() == ["one", "read"])
        first.body(Connection.longFrame)
        let third = try connection.last
        #expect(third !== second)
        third.head(404)
        #expect(third.isCancelled)
        _ = connection.log.take()
        first.body("a[\"two\"]\n")
        #expect(connection.log.take() == ["two", "read"])
        connection.connection.abort()
    }

    @Test("before the handover, the transport reads the next response up to its first frame, or up to 4 KiB")
    func boundedHandover() throws {
        let connection = Connection(.streaming)
        let (_, second) = try connection.openForHandover()
        second.head()
        for _ in 0..<4 { second.body(String(repeating: "h", count: 1_023) + "\n") }
        #expect(second.isReading)
        second.body("h\n")
        #expect(!second.isReading)
        connection.connection.abort()
    }

    @Test("a client that has paused reading does not read the next response after a handover")
    func pausedHandover() throws {
        let connection = Connection(.streaming)
        let (first, second) = try connection.openForHandover()
        second.head()
        connection.connection.setReading(false)
        #expect(!first.isReading && second.isReading)
        // Data from before the pause still arrives.
        first.setReading(true)
        first.give(.end)
        #expect(!second.isReading)
        connection.connection.abort()
    }

    @Test("the transport reads a second response to its end, even if the response is already complete")
    func endedSuccessor() throws {
        let connection = Connection(.streaming)
        let (first, second) = try connection.openForHandover()
        second.head()
        second.body("a[\"two\"]\nc[4200,\"bye\"]\n")
        second.give(.end)
        first.give(.end)
        #expect(connection.log.take() == ["two", "closed 4200 bye"])
    }

    @Test(
        "the client may repeat a message only if its request was not sent",
        arguments: [true, false]
    )
    func unsent(isUnsent: Bool) throws {
        let connection = Connection(.streaming)
        try connection.open()
        let failures = Log<Bool>()
        let promise = connection.loop.makePromise(of: Void.self)
        promise.futureResult.whenFailure { failures.append($0 is UnansweredMessage) }
        connection.connection.send("a", promise: promise)
        connection.connection.flush()
        var error = HTTPRequestError(.failed, "refused")
        error.isUnsent = isUnsent
        try connection.last.give(.failed(error))
        #expect(failures.elements == [!isUnsent])
    }

    @Test("messages that wait when the connection is aborted fail with the same error as later messages")
    func lostMessages() throws {
        let connection = Connection(.streaming)
        try connection.open()
        let messages = Log<String>()
        func send(_ text: String) {
            let promise = connection.loop.makePromise(of: Void.self)
            promise.futureResult.whenFailure { messages.append(($0 as? PusherClientError)?.message ?? "") }
            connection.connection.send(text, promise: promise)
        }
        send("waiting")
        connection.connection.abort()
        send("late")
        #expect(messages.elements == Array(repeating: "Message not sent: the connection was lost.", count: 2))
    }

    @Test("the transport reports each close once, and no event afterwards")
    func ends() throws {
        let ends: [(String, (ScriptedStreamer.Exchange) -> Void)] = [
            ("closed 0 connectionClosed", { $0.give(.end) }),
            ("closed 0 connectionClosed", { $0.give(.failed(HTTPRequestError(.failed, "reset"))) }),
            ("closed 0 connectionClosed", { $0.body("o\n") }),
            ("closed 4200 bye", { $0.body("c[4200,\"bye\"]\na[\"late\"]\n") }),
            ("closed 0 protocolViolation", { $0.body("a{}\n") }),
            ("closed 0 invalidText", { $0.give(.body(ByteBuffer(bytes: [0x68, 0xFF, 0x0A]))) }),
            ("closed 0 messageTooBig", { $0.body("a[\"\(String(repeating: "x", count: 101))\"]\n") }),
        ]
        for (outcome, end) in ends {
            let connection = Connection(.streaming, limits: .init(messageSize: 100))
            try connection.open()
            let first = try connection.last
            end(first)
            first.body("a[\"late\"]\n")
            #expect(connection.log.take().filter { $0 != "read" && $0 != "activity" } == [outcome])
        }
    }

    @Test("a session that cannot be opened reports the reason")
    func failures() throws {
        let failures: [(String, (ScriptedStreamer.Exchange) -> Void)] = [
            ("closed 0 upgradeFailed", { $0.head(404) }),
            ("closed 0 connectionFailed", { $0.give(.failed(HTTPRequestError(.failed, "refused"))) }),
            ("closed 0 upgradeFailed", { $0.give(.failed(HTTPRequestError(.redirectRefused, "elsewhere"))) }),
            ("closed 0 invalidOption", { $0.give(.failed(HTTPRequestError(.invalidRequest, "no URL"))) }),
            (
                "closed 0 protocolViolation",
                {
                    $0.head(); $0.body("o{\"hostname\":\"not a host\"}\n")
                }
            ),
            (
                "closed 0 protocolViolation",
                {
                    $0.head(); $0.body("a[\"early\"]\n")
                }
            ),
            (
                "closed 4001 no app",
                {
                    $0.head(); $0.body("c[4001,\"no app\"]\n")
                }
            ),
        ]
        for (outcome, fail) in failures {
            let connection = Connection(.polling)
            connection.loop.run()
            try fail(connection.last)
            #expect(connection.log.take().filter { $0 != "read" && $0 != "activity" } == [outcome])
        }
    }

    @Test("close() sends pending messages, cancels the receiving request, and reports the close")
    func close() throws {
        let connection = Connection(.streaming)
        try connection.open()
        let stream = try connection.last
        connection.connection.send("bye", promise: nil)
        connection.connection.close(code: .normalClosure, reason: "")
        connection.loop.run()
        #expect(connection.log.take() == [] && !stream.isCancelled)
        try connection.last.head(204)
        try connection.last.give(.end)
        #expect(connection.log.take() == ["closed 1000 "] && stream.isCancelled)
    }

    @Test("a client that does not read pauses its stream, or its next poll")
    func backPressure() throws {
        let streaming = Connection(.streaming)
        try streaming.open()
        streaming.connection.setReading(false)
        #expect(try !streaming.last.isReading)
        streaming.connection.setReading(true)
        #expect(try streaming.last.isReading)
        streaming.connection.abort()
        let polling = Connection(.polling)
        try polling.open()
        try polling.last.give(.end)
        let poll = try polling.last
        polling.connection.setReading(false)
        // Data from before the pause still arrives.
        poll.setReading(true)
        poll.head()
        poll.body("a[\"one\"]\n")
        poll.give(.end)
        #expect(polling.log.take().contains("one"))
        #expect(try polling.last === poll)
        polling.connection.setReading(true)
        #expect(try polling.last !== poll)
        polling.connection.abort()
    }

    @Test("a session that the client closes in the middle of a frame delivers no more messages")
    func abortInFrame() throws {
        let aborted = Log<any TransportConnection>()
        let connection = Connection(.streaming) { _ in aborted.take().first?.abort() }
        try connection.open()
        aborted.append(connection.connection)
        try connection.last.body("a[\"one\",\"two\"]\na[\"three\"]\n")
        #expect(connection.log.take() == ["one"])
        #expect(try connection.last.isCancelled)
    }
}
