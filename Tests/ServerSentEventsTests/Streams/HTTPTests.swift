import EventSourceTestServer
import Foundation
import ProxyTestSupport
import ServerSentEvents
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@Suite("Requests and responses of event streams", .limited)
struct HTTPTests {
    private static let event = TestResponse.text("data: x\n\n")

    /// Reads the events to the end, and expects no error.
    private func expect(
        _ expected: [String],
        from stream: EventStream,
        _ sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        var events: [String] = []
        for try await event in stream.events { events.append(event.data) }
        #expect(events == expected, sourceLocation: sourceLocation)
    }

    /// Returns the error that ends the stream.
    private func error(_ stream: EventStream) async -> EventStreamError? {
        do throws(EventStreamError) {
            for try await _ in stream.events {}
            return nil
        } catch {
            return error
        }
    }

    private static var once: EventStreamOptions { with(EventStreamOptions()) { $0.reconnection = .never } }

    // MARK: Failures

    @Test("the error of a refused connection names host, port and the system's reason, and the address without secrets")
    func refused() async throws {
        // No test binds this port.
        let request = EventStreamRequest("http://127.77.0.1:9/feed?token=hush")
        let failure = await error(EventStream(request, options: Self.once, connector: .patient))
        #expect(failure?.code == .connectionFailed && failure?.address == "http://127.77.0.1:9/feed")
        #expect(
            failure?.message
                == "Connection to http://127.77.0.1:9/feed failed: the host '127.77.0.1', port 9, was not reached "
                + "(Connection refused)."
        )
    }

    // MARK: Requests

    @Test("the client sends the app's header fields, which replace the defaults")
    func headers() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([Self.event])
            let headers: HTTPHeaderFields = ["accept": "application/json, text/event-stream", "X-Token": "t"]
            let request = EventStreamRequest(server.url, headers: headers)
            try await expect(
                ["x"],
                from: EventStream(request, lastEventID: "é7", options: Self.once, connector: .patient)
            )
            let sent = server.requests[0]
            #expect(sent.headers.filter { $0.name.lowercased() == "accept" }.map(\.value) == [headers[0].value])
            #expect(sent.header("X-Token") == "t")
            #expect(sent.header("Cache-Control") == "no-cache")
            #expect(sent.header("Last-Event-ID") == "é7")
            #expect(sent.header("Accept-Encoding") == "identity")
        }
    }

    @Test("a compressed response is a final error that names the encoding, and identity is no compression")
    func compressed() async throws {
        try await EventSourceTestServer.withServer { server in
            for encoding in ["gzip", "br"] {
                server.forgetRequests()
                server.script([TestResponse(headers: ["Content-Encoding": encoding], steps: [.send("data: x\n\n")])])
                let error = await error(EventStream(server.url, options: .quick, connector: .patient))
                #expect(error?.code == .invalidContentType)
                #expect(error?.message.contains("is compressed with \"\(encoding)\"") == true)
                #expect(server.requests.count == 1)
            }
            server.script([TestResponse(headers: ["Content-Encoding": "Identity"], steps: [.send("data: x\n\n")])])
            try await expect(["x"], from: EventStream(server.url, options: Self.once, connector: .patient))
        }
    }

    // MARK: Answers that are no event streams

    @Test("the whole body of a content type that the app has named is one event")
    func wholeBody() async throws {
        let json = "{\n\n\"data\": \"\(String(repeating: "x", count: 100_000))\"}"
        let answer = TestResponse(headers: ["Content-Type": "application/json; charset=utf-8"], steps: [.send(json)])
        var options = EventStreamOptions.quick
        options.wholeContentTypes = ["application/json"]
        try await EventSourceTestServer.withServer { server in
            server.script([answer])
            let stream = EventStream(server.url, options: options, connector: .patient)
            try await expect([json], from: stream)
            #expect(stream.state == .closed(nil))
            #expect(stream.statistics.events == 1)
            #expect(server.requests.map { $0.header("Accept") } == ["application/json, text/event-stream"])

            // The answer is complete, so a last event is not missing.
            struct Answer: Decodable { var data: String }
            var values: [String] = []
            for try await value in EventStream(server.url, options: options, connector: .patient)
                .events(as: Answer.self, until: "[DONE]")
            { values.append(value.data) }
            #expect(values.map(\.count) == [100_000])

            options.maximumMessageSize = json.utf8.count - 1
            let tooLarge = await error(EventStream(server.url, options: options, connector: .patient))
            #expect(tooLarge?.code == .messageTooBig)
            let unnamed = await error(EventStream(server.url, options: .quick, connector: .patient))
            #expect(unnamed?.code == .invalidContentType)
            options.maximumMessageSize = json.utf8.count

            server.script([TestResponse(headers: answer.headers, steps: [.send("[1"), .disconnect]), answer])
            server.forgetRequests()
            try await expect([json], from: EventStream(server.url, options: options, connector: .patient))
            #expect(server.requests.count == 2)
        }
    }

    @Test("statuses 202 and 204 without content end the stream without events", arguments: [202, 204])
    func withoutContent(_ status: Int) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(status: status, headers: ["Content-Type": nil])])
            for reconnection in [EventStreamOptions.Reconnection.automatic, .always, .never] {
                var options = EventStreamOptions.quick
                options.reconnection = reconnection
                let request = EventStreamRequest(server.url, method: "POST", body: [1])
                try await expect([], from: EventStream(request, options: options, connector: .patient))
            }
            #expect(server.requests.count == 3)
        }
    }

    // MARK: Losses

    @Test("if a response ends early after its events, the error says so")
    func endedEarly() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(steps: [.events(count: 100, data: "x"), .disconnect])])
            let stream = EventStream(server.url, options: Self.once, connector: .patient)
            let error = await error(stream)
            #expect(stream.statistics.events == 100)
            #expect(error?.code == .connectionLost)
            #expect(error?.message == "Connection to \(server.url) lost: the server ended the response early.")
        }
    }

    @Test("over TLS too, a cancelled stream closes its connection at once, without waiting for the server")
    func cancelledBehind() async throws {
        let certificates = TestCertificates()
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        try await withScriptedServer(tls: try certificates.serverContext) { peer in
            _ = await peer.readUpgrade()
            try await peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: x\n\n")
            let data = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
            do {
                while true { try await peer.write(data) }
            } catch {
                // A closing handshake of TLS would be no failure.
                await peer.readToEnd()
                end.yield(peer.hasFailed)
            }
        } _: { port in
            var options = with(EventStreamOptions()) { $0.receiveBufferSize = 1 }
            options.maximumMessageSize = 1 << 30
            let connector = EventStreamConnector.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
            let stream = EventStream("https://localhost:\(port)/", options: options, connector: connector)
            for try await _ in stream.events { break }
            #expect(await ends.first { _ in true } == true)
        }
    }

    @Test("a server that speaks only HTTP/2 is named as that")
    func onlyHTTP2() async throws {
        try await withScriptedServer { peer in
            // The alert no_application_protocol of TLS (RFC 7301).
            try await peer.write([0x15, 3, 3, 0, 2, 2, 120])
            await peer.readToEnd()
        } _: { port in
            let error = await error(EventStream("https://localhost:\(port)/", options: .quick, connector: .patient))
            #expect(error?.tlsFailure?.code == .refusedByServer)
            #expect(error?.message.contains("the server does not speak HTTP/1.1") == true, "\(error?.message ?? "")")
        }
    }

    @Test("the client sends a body with its content type", arguments: ["POST", "REPORT"])
    func body(_ method: String) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([Self.event])
            let request = EventStreamRequest(
                server.url,
                method: method,
                headers: ["Content-Type": "text/plain; charset=utf-8"],
                body: Array("hello".utf8)
            )
            try await expect(["x"], from: EventStream(request, connector: .patient))
            #expect(server.requests.count == 1)
            #expect(server.requests[0].method == method)
            #expect(server.requests[0].bodyText == "hello")
            #expect(server.requests[0].header("Content-Type") == "text/plain; charset=utf-8")
        }
    }

    @Test("a request with a JSON body has the content type of JSON")
    func json() throws {
        let request = try EventStreamRequest("http://example.com", json: ["a": 1])
        #expect(request.method == "POST")
        #expect(request.body == Array(#"{"a":1}"#.utf8))
        #expect(request.headers == ["Content-Type": "application/json"])
    }

    @Test("an invalid request fails at once", arguments: ["", "no url", "ftp://example.com", "http://"])
    func invalid(_ url: String) async {
        #expect(await error(EventStream(url, connector: .patient))?.code == .invalidRequest)
    }

    @Test("printing a request shows no secrets")
    func secrets() {
        let request = EventStreamRequest(
            "https://user:hidden@example.com/feed?token=hidden",
            headers: ["Authorization": "hidden"],
            body: Array("hidden".utf8)
        )
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!"\(request)\(String(reflecting: request))\(dumped)".contains("hidden"))
    }

    @Test("printing a response shows no secrets")
    func responseSecrets() {
        let headers: HTTPHeaderFields = ["Content-Type": "Text/html; x", "X": "hidden"]
        let response = EventStreamResponse(status: 200, headers: headers, url: "http://example.com/?hidden")
        #expect("\(response)" == #"200 "text/html""#)
        #expect(!"\(EventStreamItem.opened(response))".contains("hidden"))
        var dumped = ""
        dump(response, to: &dumped)
        let error = EventStreamError(.unexpectedStatus, "no", response: response, body: Array("hidden".utf8))
        dump(error, to: &dumped)
        #expect(!dumped.contains("hidden"))
        #expect(Mirror(reflecting: error).children.isEmpty)
    }

    // MARK: Responses

    @Test("the client sends no request after status 204")
    func noContent() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(status: 204)])
            try await expect([], from: EventStream(server.url, options: .quick, connector: .patient))
            #expect(server.requests.count == 1)
        }
    }

    @Test(
        "the client does not retry if the set of retryable statuses is empty",
        arguments: [205, 210, 299, 404, 410, 429, 503]
    )
    func statuses(_ status: Int) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(status: status, headers: ["Retry-After": "0"], steps: [.send("why")])])
            var options = EventStreamOptions.quick
            options.retryableStatuses = []
            let error = await error(EventStream(server.url, options: options, connector: .patient))
            #expect(error?.code == .unexpectedStatus)
            #expect(error?.httpStatus == status)
            #expect(error?.response?.header("retry-after") == "0")
            // Status 205 has no body.
            if status != 205 { #expect(error?.bodyText == "why") }
            #expect(server.requests.count == 1)
        }
    }

    @Test("the client retries a temporary status by default")
    func retried() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(status: 503), Self.event, TestResponse(status: 204)])
            try await expect(["x"], from: EventStream(server.url, options: .quick, connector: .patient))
        }
    }

    @Test("the error contains the body of a refused POST")
    func refusedPost() async throws {
        try await EventSourceTestServer.withServer { server in
            let json = #"{"error": {"message": "rate limit"}}"#
            server.script([
                TestResponse(status: 429, headers: ["Content-Type": "application/json"], steps: [.send(json)])
            ])
            let error = await error(EventStream(try EventStreamRequest(server.url, json: [1]), connector: .patient))
            #expect(error?.httpStatus == 429)
            #expect(error?.bodyText == json)
            #expect(server.requests.count == 1)
        }
    }

    @Test(
        "by default, the client accepts only the content type of event streams",
        arguments: [
            ("text/event-stream;", true), ("text/event-stream;charset=windows-1252", true),
            ("text/event-stream;x bogus", true), ("Text/Event-Stream", true), ("text/event-stream bogus", false),
            ("x bogus", false), ("text/html", false), (nil, false),
        ] as [(String?, Bool)]
    )
    func contentTypes(_ type: String?, _ isOpen: Bool) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(headers: ["Content-Type": type], steps: [.send("data: €\n\n")])])
            let stream = EventStream(server.url, options: Self.once, connector: .patient)
            if isOpen {
                try await expect(["€"], from: stream)
            } else {
                let error = await error(stream)
                #expect(error?.code == .invalidContentType)
                #expect(error?.bodyText == "data: €\n\n")
            }
        }
    }

    @Test("the app can allow another content type")
    func otherContentType() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(headers: ["Content-Type": "text/plain"], steps: [.send("data: x\n\n")])])
            var options = Self.once
            options.contentTypes.insert("text/plain")
            try await expect(["x"], from: EventStream(server.url, options: options, connector: .patient))
        }
    }

    @Test("the client reads bodies with each framing of HTTP", arguments: ["chunked", "contentLength", "untilClose"])
    func framing(_ name: String) async throws {
        let framing = try #require(TestResponse.Framing(rawValue: name))
        try await EventSourceTestServer.withServer { server in
            let headers: [String: String?] = framing == .contentLength ? ["Content-Length": "9"] : [:]
            server.script([
                TestResponse(headers: headers, framing: framing, steps: [.send("data: x\n\n")]),
                TestResponse(status: 204),
            ])
            try await expect(["x"], from: EventStream(server.url, options: .quick, connector: .patient))
        }
    }

    @Test("the stream fails if the body is shorter than its length")
    func tooShort() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([
                TestResponse(
                    headers: ["Content-Length": "1000"],
                    framing: .contentLength,
                    steps: [.send("data: x\n\n"), .disconnect]
                )
            ])
            #expect(
                await error(EventStream(server.url, options: Self.once, connector: .patient))?.code == .connectionLost
            )
        }
    }

    // MARK: Redirects

    @Test("the client follows redirects, and reconnects to the first URL", arguments: [301, 302, 303, 307, 308])
    func redirects(_ status: Int) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.redirect(status, to: "/feed")], at: "/")
            server.script([Self.event, TestResponse(status: 204)], at: "/feed")
            try await expect(["x"], from: EventStream(server.url, options: .quick, connector: .patient))
            #expect(server.requests.map(\.path) == ["/", "/feed", "/", "/feed"])
        }
    }

    @Test(
        "the status of a redirect decides whether a POST becomes a GET",
        arguments: [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")]
    )
    func redirectedPost(_ status: Int, _ method: String) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.redirect(status, to: "/feed")], at: "/")
            server.script([Self.event], at: "/feed")
            let request = EventStreamRequest(
                server.url,
                method: "POST",
                headers: ["Content-Type": "text/plain"],
                body: Array("hello".utf8)
            )
            try await expect(["x"], from: EventStream(request, connector: .patient))
            let sent = server.requests[1]
            #expect(sent.method == method)
            #expect(sent.bodyText == (method == "GET" ? "" : "hello"))
            #expect(sent.header("Content-Type") == (method == "GET" ? nil : "text/plain"))
        }
    }

    @Test(
        "the stream fails after a redirect without a location",
        arguments: [(301, nil), (301, ""), (307, nil), (307, "")] as [(Int, String?)]
    )
    func noLocation(_ status: Int, _ location: String?) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.redirect(status, to: location)])
            #expect(
                await error(EventStream(server.url, options: .quick, connector: .patient))?.code == .redirectRefused
            )
            #expect(server.requests.count == 1)
        }
    }

    @Test("the stream fails after 20 redirects in a loop")
    func circle() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.redirect(307, to: "/")])
            #expect(
                await error(EventStream(server.url, options: .quick, connector: .patient))?.code == .redirectRefused
            )
            #expect(server.requests.count == 21)
        }
    }

    @Test("after a redirect to another origin, the client sends only header fields that the app has marked")
    func otherOrigin() async throws {
        try await EventSourceTestServer.withServer { other in
            other.script([Self.event], at: "/feed")
            try await EventSourceTestServer.withServer { server in
                server.script([.redirect(307, to: other.url + "/feed")])
                let names = ["Authorization", "Cookie", "Host", "Proxy-Authorization", "X-API-Key", "X-Trace"]
                let request = EventStreamRequest(
                    server.url,
                    headers: HTTPHeaderFields(names.map { HTTPHeader(name: $0, value: "secret") })
                )
                var options = Self.once
                try await expect(
                    ["x"],
                    from: EventStream(request, lastEventID: "7", options: options, connector: .patient)
                )
                for name in names { #expect(server.requests[0].header(name) == "secret") }
                for name in names { #expect(other.requests[0].header(name) != "secret") }
                #expect(other.requests[0].header("Accept") == "text/event-stream")
                #expect(other.requests[0].header("Cache-Control") == "no-cache")
                #expect(other.requests[0].header("Last-Event-ID") == "7")

                // The server counts requests for a script, so the script begins again.
                server.forgetRequests()
                options.headersForOtherOrigins = ["x-trace", "Host"]
                try await expect(["x"], from: EventStream(request, options: options, connector: .patient))
                for name in names { #expect((other.requests[1].header(name) == "secret") == (name == "X-Trace")) }
            }
        }
    }

    @Test("the client sends no body to another origin, and the stream fails", arguments: [307, 308])
    func bodyToOtherOrigin(_ status: Int) async throws {
        try await EventSourceTestServer.withServer { other in
            other.script([Self.event])
            try await EventSourceTestServer.withServer { server in
                server.script([.redirect(status, to: other.url)])
                let request = EventStreamRequest(server.url, method: "POST", body: Array("hello".utf8))
                let error = await error(EventStream(request, options: .quick, connector: .patient))
                #expect(error?.code == .redirectRefused)
                #expect(error?.message.contains("does not send the body of the request there") == true)
                #expect(other.requests.isEmpty)
            }
        }
    }

    @Test("after status 303, the client continues at another origin with a GET and without the body")
    func getAtOtherOrigin() async throws {
        try await EventSourceTestServer.withServer { other in
            other.script([Self.event])
            try await EventSourceTestServer.withServer { server in
                server.script([.redirect(303, to: other.url)])
                let request = EventStreamRequest(server.url, method: "POST", body: Array("hello".utf8))
                try await expect(["x"], from: EventStream(request, options: Self.once, connector: .patient))
                #expect(other.requests[0].method == "GET" && other.requests[0].body.isEmpty)
            }
        }
    }

    @Test("a server gets the request of a stream only if its key is pinned")
    func pins() async throws {
        let certificates = TestCertificates()
        let certificate = EventSourceTestServer.Certificate(
            certificateChain: certificates.serverPEM,
            privateKey: certificates.serverKeyPEM
        )
        let other = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        try await EventSourceTestServer.withServer(certificate: certificate) { server in
            server.script([Self.event])
            let request = EventStreamRequest(
                server.url + "/?token=hidden",
                headers: ["Authorization": "hidden"]
            )
            var tls = TLSOptions(trustRoots: .only(pem: certificates.rootPEM), pins: [other])
            // With quick retries, a wrong classification would lead to further attempts and no error.
            let error = await error(EventStream(request, options: .quick, connector: EventStreamConnector(tls: tls)))
            #expect(error?.code == .pinMismatch)
            #expect(error?.message.contains("sha256/\(certificates.serverPin)") == true)
            #expect(error?.message.contains("hidden") == false)
            #expect(server.requests.isEmpty)
            tls.pins.insert(certificates.serverPin)
            let connector = EventStreamConnector(tls: tls)
            try await expect(["x"], from: EventStream(request, options: Self.once, connector: connector))
        }
        try await EventSourceTestServer.withServer { server in
            let connector = EventStreamConnector(tls: TLSOptions(pins: [other]))
            let error = await error(EventStream(server.url, options: .quick, connector: connector))
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains("has no TLS") == true)
            #expect(server.connectionCount == 0)
        }
    }

    @Test("if the port of an http URL expects TLS, the error says so")
    func onlyTLS() async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            // An alert of TLS.
            try await peer.write([0x15, 3, 3, 0, 2, 2, 10])
        } _: { port in
            let error = await error(EventStream("http://127.0.0.1:\(port)/", options: Self.once, connector: .patient))
            let text = """
                Connection to http://127.0.0.1:\(port)/ failed: the server's answer is not HTTP. \
                Use https if the port expects TLS.
                """
            #expect(error?.message == text)
            #expect(error?.localizedDescription == text)
        }
    }

    @Test("the client follows a redirect from TLS to plain HTTP only if the option allows this")
    func tls() async throws {
        let certificates = TestCertificates()
        let certificate = EventSourceTestServer.Certificate(
            certificateChain: certificates.serverPEM,
            privateKey: certificates.serverKeyPEM
        )
        let connector = EventStreamConnector.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
        try await EventSourceTestServer.withServer { plain in
            plain.script([Self.event])
            try await EventSourceTestServer.withServer(certificate: certificate) { server in
                server.script([Self.event])
                let stream = EventStream(server.url, options: Self.once, connector: connector)
                try await expect(["x"], from: stream)
                let stranger = await error(EventStream(server.url, options: .quick, connector: .patient))
                #expect(stranger?.code == .tlsFailed)
                #expect(stranger?.tlsFailure?.code == .unknownIssuer)

                server.script([.redirect(302, to: plain.url)])
                var options = Self.once
                let refused = await error(EventStream(server.url, options: options, connector: connector))
                #expect(refused?.code == .redirectRefused)
                options.allowsInsecureRedirects = true
                try await expect(["x"], from: EventStream(server.url, options: options, connector: connector))
            }
        }
    }

    @Test("a reset of a TLS connection does not look like the end of the body")
    func resetWithTLS() async throws {
        let certificates = TestCertificates()
        let certificate = EventSourceTestServer.Certificate(
            certificateChain: certificates.serverPEM,
            privateKey: certificates.serverKeyPEM
        )
        let connector = EventStreamConnector.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
        try await EventSourceTestServer.withServer(certificate: certificate) { server in
            let (taken, take) = AsyncStream.makeStream(of: Void.self)
            server.respond { exchange in
                try await exchange.start(framing: .untilClose)
                try await exchange.send("data: x\n\n")
                // The test waits, because a reset discards data that has not arrived yet.
                await taken.first { _ in true }
                try await exchange.reset()
            }
            let stream = EventStream(server.url, options: Self.once, connector: connector)
            var events = stream.events.makeAsyncIterator()
            let first = try await events.next()
            #expect(first?.data == "x")
            take.yield()
            do throws(EventStreamError) {
                _ = try await events.next()
                Issue.record("the body ended")
            } catch {
                #expect(error.code == .connectionLost)
            }
        }
    }

    @Test("the client connects through a proxy, with and without TLS")
    func proxy() async throws {
        let certificates = TestCertificates()
        let certificate = EventSourceTestServer.Certificate(
            certificateChain: certificates.serverPEM,
            privateKey: certificates.serverKeyPEM
        )
        for certificate in [nil, certificate] {
            try await EventSourceTestServer.withServer(certificate: certificate) { server in
                server.script([Self.event])
                try await TestProxy.withProxy { proxy in
                    let connector = EventStreamConnector(
                        tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)),
                        proxy: .server(host: proxy.host, port: proxy.port)
                    )
                    let stream = EventStream(server.url, options: Self.once, connector: connector)
                    try await expect(["x"], from: stream)
                    #expect(!proxy.requests.isEmpty)
                }
            }
        }
    }
}
