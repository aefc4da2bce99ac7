import ClientTestSupport
import Dispatch
import NIOCore
import NIOHTTP1
import PusherTestServer
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@testable import PusherClient

@Suite("A client and a server over real sockets", .limited)
struct RealServerTests {
    @Test(
        "a client gets events from the REST API before and after a lost connection",
        arguments: [false, true]
    )
    func life(useTLS: Bool) async throws {
        let certificates = TestCertificates()
        var serverOptions = PusherTestServer.Options()
        if useTLS {
            serverOptions.tls = .init(
                certificateChain: certificates.serverPEM,
                privateKey: certificates.serverKeyPEM
            )
        }
        try await PusherTestServer.withServer(options: serverOptions) { server in
            let pusher = Pusher(server, tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
            let channel = pusher.subscribe("orders")
            var events = channel.events(named: "created").makeAsyncIterator()
            var resubscriptions = channel.resubscriptions.makeAsyncIterator()
            let socketID = try await pusher.connected()
            try await channel.subscribed()
            try await publish(#"{"id":1}"#, on: server, trusting: certificates)
            #expect(await events.next()?.data == #"{"id":1}"#)

            server.dropConnections()
            #expect(await resubscriptions.next() != nil)
            #expect(try await pusher.connected() != socketID)
            try await publish(#"{"id":2}"#, on: server, trusting: certificates)
            #expect(await events.next()?.data == #"{"id":2}"#)
            await pusher.disconnected()
            try await server.nextRecord(timeout: .patience) { $0.event == .closeReceived(code: 1000, reason: "") }
        }
    }

    private func publish(_ data: String, on server: PusherTestServer, trusting certificates: TestCertificates)
        async throws
    {
        let signed = server.publishRequest(event: "created", data: data, to: ["orders"])
        let client = PooledHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
        defer { client.shutdown() }
        #expect(try await client.status(.to(server.url + signed.pathAndQuery, body: signed.body)) == 200)
    }

    @Test("the client reconnects after its server was stopped and started again")
    func restart() async throws {
        var serverOptions = PusherTestServer.Options()
        serverOptions.host = LoopbackAddress.ofItsOwn()
        let server = PusherTestServer(options: serverOptions)
        try await server.start()
        let pusher = Pusher(server)
        let channel = pusher.subscribe("orders")
        var resubscriptions = channel.resubscriptions.makeAsyncIterator()
        var errors = pusher.errors.makeAsyncIterator()
        try await pusher.connected()
        try await channel.subscribed()
        await server.shutdown()
        #expect(await errors.next()?.code == .connectionClosed)
        #expect(await errors.next()?.code == .connectionFailed)
        try await server.start()
        #expect(await resubscriptions.next() != nil)
        await pusher.disconnected()
        await server.shutdown()
    }

    @Test("the client reports the reason if no server listens, and tries again")
    func nobodyListens() async throws {
        var serverOptions = PusherTestServer.Options()
        serverOptions.host = LoopbackAddress.ofItsOwn()
        let server = PusherTestServer(options: serverOptions)
        try await server.start()
        await server.shutdown()
        let pusher = Pusher(server)
        var statuses = pusher.statuses.makeAsyncIterator()
        pusher.connect()
        while let status = await statuses.next() {
            guard case .waiting(_, let attempt, let reason) = status else { continue }
            #expect(reason.code == .connectionFailed)
            if attempt == 3 { break }
        }
    }

    @Test("the client checks the root and host of a certificate, unless the options disable the check")
    func certificates() async throws {
        let certificates = TestCertificates(.other)
        var serverOptions = PusherTestServer.Options()
        serverOptions.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        try await PusherTestServer.withServer(options: serverOptions) { server in
            let refused = [TLSOptions(), TLSOptions(trustRoots: .only(pem: certificates.rootPEM))]
            for tls in refused {
                let pusher = Pusher(server, tls: tls)
                var errors = pusher.errors.makeAsyncIterator()
                pusher.connect()
                #expect(await errors.next()?.code == .tlsFailed)
                #expect(pusher.connection.connectionState != .connected)
            }
            #expect(server.connections.isEmpty)
            let accepted: [TLSOptions.CertificateVerification] = [
                .noHostnameVerification, .insecurelyTrustAnyCertificate,
            ]
            for verification in accepted {
                let tls = TLSOptions(
                    trustRoots: .only(pem: certificates.rootPEM),
                    certificateVerification: verification
                )
                try await Pusher(server, tls: tls).connected()
            }
        }
    }

    @Test(
        "the server gets the path, headers and subprotocol, and may leave the subprotocol unconfirmed",
        arguments: [true, false]
    )
    func upgrade(echoes: Bool) async throws {
        var serverOptions = PusherTestServer.Options()
        serverOptions.echoesSubprotocol = echoes
        try await PusherTestServer.withServer(options: serverOptions) { server in
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    host: .host(server.host),
                    port: server.port,
                    path: "/some/prefix",
                    useTLS: false,
                    headers: ["Authorization": "Bearer hush"],
                    subprotocol: "pusher-channels-protocol-7",
                    callbackQueue: .eventLoop,
                    logger: .quiet
                )
            )
            try await pusher.connected()
            let request = try #require(try await server.waitForConnections(timeout: .patience).first).request
            #expect(request.path == "/some/prefix/app/app-key")
            #expect(request.parameters["protocol"] == "7")
            #expect(request.header("Authorization") == "Bearer hush")
            #expect(request.header("Host") == "127.0.0.1:\(server.port)")
            #expect(request.header("Sec-WebSocket-Protocol") == "pusher-channels-protocol-7")
        }
    }

    @Test(
        "the client accepts a message of the maximum size, and closes with 1009 after a larger message"
    )
    func largeMessages() async throws {
        try await PusherTestServer.withServer { server in
            let limit = 100_000
            let pusher = Pusher(server, limits: .init(messageSize: limit))
            let channel = pusher.subscribe("orders")
            var events = channel.events(named: "e").makeAsyncIterator()
            var errors = pusher.errors.makeAsyncIterator()
            var resubscriptions = channel.resubscriptions.makeAsyncIterator()
            try await pusher.connected()
            try await channel.subscribed()
            let frame = #"{"event":"e","channel":"orders","data":""}"#
            let fitting = String(repeating: "x", count: limit - frame.utf8.count)
            server.sendText(frame.replacing(#""""#, with: "\"\(fitting)\""))
            #expect(await events.next()?.data == fitting)
            server.sendText(frame.replacing(#""""#, with: "\"\(fitting)y\""))
            #expect(await errors.next()?.code == .messageTooBig)
            try await server.nextRecord(timeout: .patience) {
                if case .closeReceived(code: 1009, _) = $0.event { true } else { false }
            }
            #expect(await resubscriptions.next() != nil)
        }
    }

    @Test("the client closes with 1007 after text that is not UTF-8, and reconnects")
    func invalidText() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(server)
            var errors = pusher.errors.makeAsyncIterator()
            let socketID = try await pusher.connected()
            server.sendRawBytes([0x81, 0x02, 0xC3, 0x28])
            #expect(await errors.next()?.code == .invalidText)
            try await server.nextRecord(timeout: .patience) {
                if case .closeReceived(code: 1007, _) = $0.event { true } else { false }
            }
            #expect(try await pusher.connected() != socketID)
        }
    }

    @Test("the client reports the server's close code with its reason")
    func closeCode() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(server)
            try await pusher.connected()
            var statuses = pusher.statuses.makeAsyncIterator()
            server.closeConnections(code: 4003, reason: "Application disabled")
            while let status = await statuses.next() {
                guard case .refused(let error) = status else { continue }
                #expect(error.serverCode == 4003)
                #expect(error.message.contains("Application disabled"))
                break
            }
        }
    }

    @Test("a released client closes its socket")
    func release() async throws {
        try await PusherTestServer.withServer { server in
            var pusher: Pusher? = Pusher(server)
            try await pusher?.connected()
            pusher = nil
            try await server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
            #expect(server.connections.isEmpty)
        }
    }

    @Test("the client tries again after a refused or dropped upgrade")
    func badUpgrades() async throws {
        try await PusherTestServer.withServer { server in
            server.failConnections(1, with: .refused(status: 503))
            server.failConnections(1, with: .dropped)
            let pusher = Pusher(server)
            var errors = pusher.errors.makeAsyncIterator()
            try await pusher.connected()
            #expect(await errors.next()?.code == .upgradeFailed)
            #expect(await errors.next()?.code == .upgradeFailed)
        }
    }

    @Test("the client subscribes a thousand channels, and subscribes them again after a loss")
    func manyChannels() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(server)
            let channels = (0..<1_000).map { pusher.subscribe("channel-\($0)") }
            try await pusher.connected()
            for channel in channels { try await channel.subscribed() }
            let last = try #require(channels.last)
            var resubscriptions = last.resubscriptions.makeAsyncIterator()
            server.dropConnections()
            #expect(await resubscriptions.next() != nil)
            #expect(channels.allSatisfy { $0.subscribed })
            #expect(server.connections.first?.subscribedChannels.count == 1_000)
        }
    }

    @Test(
        "each reported change begins with the previous state, even if eight threads call the client"
    )
    func manyThreads() async throws {
        final class Observer: PusherDelegate {
            let changes = Log<[ConnectionState]>()
            func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
                changes.append([old, new])
            }
        }
        try await PusherTestServer.withServer { server in
            let observer = Observer()
            let pusher = Pusher(server)
            pusher.delegate = observer
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<8 {
                    group.addTask {
                        for round in 0..<100 {
                            let name = "channel-\((worker + round) % 5)"
                            switch (worker + round) % 4 {
                            case 0: pusher.connect()
                            case 1: pusher.subscribe(name).bind { _ in }
                            case 2: pusher.unsubscribe(name)
                            default: pusher.disconnect()
                            }
                        }
                    }
                }
            }
            pusher.unsubscribeAll()
            let channel = pusher.subscribe("orders")
            try await pusher.connected()
            try await channel.subscribed()
            // The client unsubscribes a pending channel after the server's answer, so the message may still be in
            // transit.
            try await server.nextRecord(timeout: .patience) { _ in
                server.connections.count { $0.subscribedChannels == ["orders"] } == 1
            }
            await pusher.disconnected()
            let changes = observer.changes.elements
            #expect(changes.first?.first == .disconnected)
            #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.last == $1.first })
            #expect(changes.allSatisfy { $0.first != $0.last })
        }
    }
}

extension Pusher {
    /// Creates a client of the test's server that retries soon.
    convenience init(
        _ server: PusherTestServer,
        authMethod: AuthMethod = .noMethod,
        tls: TLSOptions = TLSOptions(),
        limits: PusherClientOptions.Limits = .init()
    ) {
        self.init(
            key: server.options.application.key,
            options: PusherClientOptions(
                authMethod: authMethod,
                host: .host(server.host),
                port: server.port,
                useTLS: server.usesTLS,
                timeouts: .patient,
                retryPolicy: .delays([.milliseconds(20)]),
                tls: tls,
                limits: limits,
                callbackQueue: .eventLoop,
                logger: .quiet
            )
        )
    }
}

extension PusherTimeouts {
    /// Timeouts for calls that must succeed even on a slow machine.
    static var patient: Self {
        Self(
            connectionAttempt: .patience,
            unavailable: .patience,
            subscription: .patience,
            authorization: .patience,
            signIn: .patience
        )
    }
}
