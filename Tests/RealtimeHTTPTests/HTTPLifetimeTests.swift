import NIOCore
import NIOPosix
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestTLS
import Testing

@Suite("The end of HTTP requests", .timeLimit(.minutes(5)))
struct HTTPLifetimeTests {
    @Test("a cancelled task ends its request", arguments: ["/silent", "/head", "/endless"])
    func cancellation(path: String) async throws {
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions())
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

    @Test("a server with HTTP/2 gets HTTP/1.1, so that a cancelled request ends its connection")
    func http1() async throws {
        let certificates = try TestCertificates()
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
        try await HTTPTestServer.serving(tls: try certificates.http2ServerContext) { _ in
            .answer(200)
        } _: { server in
            let status = try await requester.status(.to("https://localhost:\(server.port)"))
            #expect(status == 200)
        }
    }

    @Test("a request that is cancelled during its connect leaves no other request waiting for it")
    func cancelledWhileConnecting() async throws {
        let certificates = try TestCertificates()
        let tls = TLSOptions(trustRoots: .only(pem: certificates.rootPEM))
        let requester = AsyncHTTPRequester(tls: tls, connectTimeout: .seconds(60))
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

    @Test("streams that follow one another share a connection, if they may", arguments: [true, false])
    func streamsInTurn(shares: Bool) async throws {
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { _ in
            .chunks(["a", "b"])
        } _: { server in
            var request = HTTPRequest.to(server.url)
            request.sharesConnection = shares
            for _ in 1...3 {
                let events = AsyncStream<HTTPStreamEvent> { [request] continuation in
                    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
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

    @Test("a request of a cancelled task is not sent")
    func cancelledBefore() async throws {
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions())
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

    @Test("a shutdown ends running requests, and permits no new ones")
    func shutdown() async throws {
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions())
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

    @Test("a shutdown may come twice, and before the first request")
    func shutdownAgain() async throws {
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions())
        requester.shutdown()
        requester.shutdown()
        #expect(await requester.failure(.to("http://127.0.0.1:1"))?.kind == .shutDown)
        let used = AsyncHTTPRequester.patient(tls: TLSOptions())
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

    @Test("a released requester leaves no connection behind", arguments: 0..<10)
    func dropped(_: Int) async throws {
        _ = AsyncHTTPRequester.patient(tls: TLSOptions())
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            _ = try await AsyncHTTPRequester.patient(tls: TLSOptions()).response(to: .to(server.url))
            await server.nextEnd()
        }
    }

    @Test("a requester that is released during a request lives until it has ended")
    func droppedInFlight() async throws {
        try await HTTPTestServer.serving { _ in
            .nothing
        } _: { server in
            weak var dropped: AsyncHTTPRequester?
            let task: Task<HTTPRequestError?, Never>
            do {
                let requester = AsyncHTTPRequester.patient(tls: TLSOptions())
                dropped = requester
                task = Task { await requester.failure(.to(server.url)) }
            }
            _ = await server.nextRequest()
            dropped?.shutdown()
            #expect(await task.value?.kind == .shutDown)
            await server.nextEnd()
        }
    }

    @Test("requests and a shutdown at the same time do no harm", arguments: 0..<20)
    func race(_: Int) async throws {
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions())
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
