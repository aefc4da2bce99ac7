import NIOCore
import NIOPosix
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@Suite("Cancellation and shutdown of HTTP requests", .limited)
struct HTTPLifetimeTests {
    @Test("cancelling the task cancels the request", arguments: ["/silent", "/head", "/endless"])
    func cancellation(path: String) async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { request in
            switch request.uri {
            case "/silent": .nothing
            case "/head": .headOnly
            default: .endless(status: 200)
            }
        } _: { server in
            let task = Task { try await requester.response(to: .to(server.url + path, maximumResponseSize: .max)) }
            _ = await server.nextRequest()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await server.nextEnd()
        }
    }

    @Test("the requester uses HTTP/1.1 with a server that supports HTTP/2")
    func http1() async throws {
        let certificates = TestCertificates()
        let requester = PooledHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
        try await HTTPTestServer.serving(tls: try certificates.http2ServerContext) { _ in
            .answer(200)
        } _: { server in
            let status = try await requester.status(.to("https://localhost:\(server.port)"))
            #expect(status == 200)
        }
    }

    @Test("the next request does not wait for the connection of a cancelled request")
    func cancelledWhileConnecting() async throws {
        let certificates = TestCertificates()
        let tls = TLSOptions(trustRoots: .only(pem: certificates.rootPEM))
        let requester = PooledHTTPRequester(tls: TLSContextSource(tls), connectTimeout: .seconds(60))
        try await HTTPTestServer.serving(tls: try certificates.serverContext, silentConnections: 1) { _ in
            .answer(200)
        } _: { server in
            let request = HTTPRequest.to("https://localhost:\(server.port)")
            let task = Task { try await requester.response(to: request) }
            await server.nextSilentConnection()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let status = try await requester.status(request)
            #expect(status == 200)
            requester.shutdown()
        }
    }

    @Test("consecutive streams share a connection if the requests allow this", arguments: [true, false])
    func streamsInTurn(shares: Bool) async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { _ in
            .chunks(["a", "b"])
        } _: { server in
            var request = HTTPRequest.to(server.url)
            request.sharesConnection = shares
            let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
            for _ in 1...3 {
                let events = AsyncStream<HTTPStreamEvent> { [request] continuation in
                    eventLoop.execute {
                        let redirects = HTTPStreamRedirects(maximum: 0, leavesTLS: false)
                        _ = requester.stream(request, redirects: redirects, on: eventLoop) { event in
                            continuation.yield(event)
                            switch event {
                            case .end, .failed: continuation.finish()
                            case .head, .body: break
                            }
                        }
                    }
                }
                let last = await events.reduce(nil) { $1 }
                guard case .end? = last else {
                    Issue.record("It ended with \(String(describing: last)).")
                    return
                }
            }
            #expect(server.connectionCount == (shares ? 1 : 3))
        }
    }

    @Test("a stream reports no event within setReading")
    func resumedStream() async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { _ in
            .chunks(["a", "b", "c"])
        } _: { server in
            let log = Log<String>()
            let (end, continuation) = AsyncStream.makeStream(of: Void.self)
            let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
            let stream = NIOLoopBoundBox<(any HTTPStream)?>.makeEmptyBox(
                valueType: (any HTTPStream).self,
                eventLoop: eventLoop
            )
            eventLoop.execute {
                let redirects = HTTPStreamRedirects(maximum: 0, leavesTLS: false)
                stream.value = requester.stream(.to(server.url), redirects: redirects, on: eventLoop) { event in
                    switch event {
                    case .head: break
                    case .body(let bytes):
                        log.append(String(buffer: bytes))
                        stream.value?.setReading(false)
                        eventLoop.execute {
                            log.append("(")
                            stream.value?.setReading(true)
                            log.append(")")
                        }
                    case .end, .failed:
                        // The stream retains this closure.
                        stream.value = nil
                        continuation.finish()
                    }
                }
            }
            for await _ in end {}
            let events = log.take().joined()
            #expect(events.filter { $0.isLetter } == "abc")
            #expect(!events.replacing("()", with: "").contains("("))
        }
    }

    @Test("the requester sends nothing if the task is already cancelled")
    func cancelledBefore() async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await requester.response(to: .to(server.url))
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("a shutdown cancels running requests, and the requester rejects new requests")
    func shutdown() async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { _ in
            .nothing
        } _: { server in
            let tasks = (0..<5).map { _ in Task { await requester.failure(.to(server.url)) } }
            for _ in tasks { _ = await server.nextRequest() }
            requester.shutdown()
            for task in tasks {
                let error = try #require(await task.value)
                #expect(error.kind == .shutDown)
                #expect(error.message == "the client was released")
            }
            for _ in tasks { await server.nextEnd() }
            #expect(await requester.failure(.to(server.url))?.kind == .shutDown)
        }
    }

    @Test("retiring the connections closes idle ones, and does not cancel running requests")
    func retired() async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions())
        defer { requester.shutdown() }
        requester.retireConnections()
        try await HTTPTestServer.serving { request in
            request.uri == "/silent" ? .nothing : .answer(200)
        } _: { server in
            _ = try await requester.response(to: .to(server.url))
            requester.retireConnections()
            await server.nextEnd()
            let running = Task { await requester.failure(.to(server.url + "/silent", timeout: .milliseconds(200))) }
            // The first of these requests is the one above.
            _ = await server.nextRequest()
            _ = await server.nextRequest()
            requester.retireConnections()
            #expect(try await requester.status(.to(server.url)) == 200)
            #expect(await running.value?.kind == .timedOut)
            #expect(server.connectionCount == 3)
        }
    }

    @Test("a connection whose request runs while the connections are retired is not used again")
    func retiredWhileRunning() async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions())
        defer { requester.shutdown() }
        let (requests, request) = AsyncStream.makeStream(of: Int.self)
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        let connections = Log<Void>()
        try await withScriptedServer { peer in
            connections.append(())
            let number = connections.count
            while await !peer.readUpgrade().isEmpty {
                request.yield(number)
                var answer = answers.makeAsyncIterator()
                await answer.next()
                try await peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        } _: { port in
            let url = "http://127.0.0.1:\(port)"
            var numbers = requests.makeAsyncIterator()
            async let running = requester.status(.to(url, method: "GET", body: nil))
            #expect(await numbers.next() == 1)
            requester.retireConnections()
            for _ in 1...2 { answer.yield() }
            let first = try await running
            #expect(first == 200)
            #expect(try await requester.status(.to(url, method: "GET", body: nil)) == 200)
            #expect(await numbers.next() == 2)
            requester.shutdown()
        }
    }

    @Test("a caller can shut the requester down twice, even before the first request")
    func shutdownAgain() async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions())
        requester.shutdown()
        requester.shutdown()
        #expect(await requester.failure(.to("http://127.0.0.1:1"))?.kind == .shutDown)
        let used = PooledHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            _ = try await used.response(to: .to(server.url))
            await withDiscardingTaskGroup { group in
                for _ in 0..<10 { group.addTask { used.shutdown() } }
            }
            await server.nextEnd()
        }
    }

    @Test("releasing the requester closes its connections", arguments: 0..<10)
    func dropped(_: Int) async throws {
        _ = PooledHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            _ = try await PooledHTTPRequester.patient(tls: TLSOptions()).response(to: .to(server.url))
            await server.nextEnd()
        }
    }

    @Test("a running request retains the requester")
    func droppedInFlight() async throws {
        try await HTTPTestServer.serving { _ in
            .nothing
        } _: { server in
            weak var dropped: PooledHTTPRequester?
            let task: Task<HTTPRequestError?, Never>
            do {
                let requester = PooledHTTPRequester.patient(tls: TLSOptions())
                dropped = requester
                task = Task { await requester.failure(.to(server.url)) }
            }
            _ = await server.nextRequest()
            dropped?.shutdown()
            #expect(await task.value?.kind == .shutDown)
            await server.nextEnd()
        }
    }

    @Test("requests during a shutdown succeed or fail with the code shutDown", arguments: 0..<20)
    func race(_: Int) async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            await withDiscardingTaskGroup { group in
                for number in 0..<8 {
                    group.addTask {
                        if number == 4 { requester.shutdown() }
                        do {
                            #expect(try await requester.status(.to(server.url)) == 200)
                        } catch {
                            #expect((error as? HTTPRequestError)?.kind == .shutDown)
                        }
                    }
                }
            }
        }
    }
}
