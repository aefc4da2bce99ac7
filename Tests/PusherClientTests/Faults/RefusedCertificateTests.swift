import ClientTestSupport
import PusherTestServer
import RealtimeNetworking
import RealtimePrimitives
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing
import WebSocketClient

@testable import PusherClient

@Suite("Certificates, valid and invalid", .limited)
struct RefusedCertificateTests {
    static let refused: [(TestChain.Kind, String, TLSFailure.Code, String)] = [
        (.expired, "127.0.0.1", .expired, "has expired"),
        (.notYetValid, "127.0.0.1", .notYetValid, "not valid yet"),
        (.otherHost, "127.0.0.1", .hostMismatch, "not for '127.0.0.1'"),
        (.otherHost, "localhost", .hostMismatch, "not for 'localhost'"),
        (.nameOnly, "127.0.0.1", .hostMismatch, "not for '127.0.0.1'"),
        (.addressOnly, "localhost", .hostMismatch, "not for 'localhost'"),
        (.selfSigned, "127.0.0.1", .selfSigned, "signed by its own key"),
        (.unknownRoot, "127.0.0.1", .unknownIssuer, "its issuer 'unknown root"),
        (.missingIntermediate, "127.0.0.1", .unknownIssuer, "missing or wrong"),
        (.wrongIntermediate, "127.0.0.1", .unknownIssuer, "missing or wrong"),
        (.expiredIntermediate, "127.0.0.1", .unknownIssuer, "missing or wrong"),
        (.serverAsAuthority, "127.0.0.1", .unknownIssuer, "missing or wrong"),
        (.intermediateWithoutFlag, "127.0.0.1", .unknownIssuer, "missing or wrong"),
        (.forgedIssuer, "127.0.0.1", .badChain, "but that authority did not sign it"),
        (.forClients, "127.0.0.1", .wrongPurpose, "not for servers"),
    ]

    @Test(
        "the client rejects an invalid certificate with the reason, and its retry policy decides on each attempt",
        arguments: refused
    )
    func refusal(kind: TestChain.Kind, host: String, reason: TLSFailure.Code, words: String) async throws {
        let chain = TestChain(kind)
        var options = PusherTestServer.Options()
        options.tls = .init(certificateChain: chain.chainPEM, privateKey: chain.keyPEM)
        try await PusherTestServer.withServer(options: options) { server in
            try await PusherTestRelay.withRelay(to: server) { relay in
                let policy = TwoRetries()
                let pusher = Pusher(
                    key: server.options.application.key,
                    options: PusherClientOptions(
                        host: .host(host),
                        port: relay.port,
                        timeouts: .patient,
                        retryPolicy: policy,
                        tls: TLSOptions(trustRoots: .only(pem: chain.rootPEM)),
                        callbackQueue: .eventLoop,
                        logger: .quiet
                    )
                )
                var errors = pusher.errors.makeAsyncIterator()
                let thrown = await #expect(throws: PusherClientError.self) { try await pusher.connected() }
                #expect(thrown?.code == .retriesExhausted)
                #expect(thrown?.tlsFailure?.code == reason)
                for _ in 1...3 {
                    let error = try #require(await errors.next())
                    #expect(error.code == .tlsFailed)
                    #expect(error.tlsFailure?.code == reason, "\(error)")
                    #expect(error.message.contains(words), "\(error)")
                    #expect(error.message.contains("port \(relay.port)"))
                    // The description contains the error once, in this package's words.
                    #expect("\(error)" == "tlsFailed: \(error.message)")
                }
                #expect(await errors.next()?.code == .retriesExhausted)
                #expect(
                    policy.questions.elements.map { ($0.reason as? PusherClientError)?.tlsFailure?.code } == [
                        reason, reason, reason,
                    ]
                )
                // Each attempt opens one connection, which begins with a TLS record.
                #expect(relay.connections.count == 3)
                #expect(relay.connections.allSatisfy { $0.openingBytes.first == 22 })
                #expect(server.records.isEmpty)
            }
        }
    }

    @Test(
        "the client accepts a valid certificate, from a root or an intermediate, for a name or an address",
        arguments: [
            (TestChain.Kind.direct, "127.0.0.1"), (.direct, "localhost"), (.withIntermediate, "127.0.0.1"),
            (.withIntermediate, "localhost"), (.addressOnly, "127.0.0.1"), (.nameOnly, "localhost"),
        ]
    )
    func accepted(kind: TestChain.Kind, host: String) async throws {
        let chain = TestChain(kind)
        var options = PusherTestServer.Options()
        options.tls = .init(certificateChain: chain.chainPEM, privateKey: chain.keyPEM)
        try await PusherTestServer.withServer(options: options) { server in
            for roots in [TLSOptions.TrustRoots.only(pem: chain.rootPEM), .systemAnd(pem: chain.rootPEM)] {
                let pusher = Pusher(
                    key: server.options.application.key,
                    options: PusherClientOptions(
                        host: .host(host),
                        port: server.port,
                        timeouts: .patient,
                        tls: TLSOptions(trustRoots: roots),
                        callbackQueue: .eventLoop,
                        logger: .quiet
                    )
                )
                try await pusher.connected()
                await pusher.disconnected()
            }
        }
    }

    @Test(
        "an authorization request reports the reason for rejecting a certificate",
        arguments: [
            (TestChain.Kind.otherHost, TLSFailure.Code.hostMismatch), (.unknownRoot, .unknownIssuer),
            (.expired, .expired),
        ]
    )
    func authorization(kind: TestChain.Kind, reason: TLSFailure.Code) async throws {
        let chain = TestChain(kind)
        var backendOptions = PusherTestServer.Options()
        backendOptions.tls = .init(certificateChain: chain.chainPEM, privateKey: chain.keyPEM)
        try await PusherTestServer.withServer(options: backendOptions) { backend in
            try await PusherTestServer.withServer { server in
                let pusher = Pusher(
                    key: server.options.application.key,
                    options: PusherClientOptions(
                        authMethod: .endpoint(authEndpoint: backend.url + "/pusher/auth"),
                        host: .host(server.host),
                        port: server.port,
                        useTLS: false,
                        timeouts: .patient,
                        requestRetryPolicy: .delays([], repeatsLast: false),
                        tls: TLSOptions(trustRoots: .only(pem: chain.rootPEM)),
                        callbackQueue: .eventLoop,
                        logger: .quiet
                    )
                )
                var errors = pusher.errors.makeAsyncIterator()
                let channel = pusher.subscribe("private-orders")
                try await pusher.connected()
                let error = await #expect(throws: SubscriptionError.self) { try await channel.subscribed() }
                let cause = try #require(error?.cause as? AuthorizationError)
                #expect(cause.tlsFailure?.code == reason, "\(cause)")
                #expect(!"\(cause) \(error.map { "\($0)" } ?? "")".contains("BoringSSL"))
                #expect(await errors.next()?.tlsFailure?.code == reason)
                #expect(backend.records.isEmpty)
                await pusher.disconnected()
            }
        }
    }

    @Test("the error for a missing client certificate has a separate reason")
    func clientCertificate() async throws {
        let certificates = TestCertificates()
        try await withScriptedServer(tls: certificates.demandingServerContext) { peer in
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(
                .init(host: "127.0.0.1", port: port, useTLS: true, path: "/"),
                options: with(WebSocketOptions()) { $0.tls = TLSOptions(trustRoots: .only(pem: certificates.rootPEM)) }
            )
            guard case .closed(let closure)? = await socket.nextOutcome() else {
                Issue.record("not closed")
                return
            }
            #expect(closure.error?.tlsFailure?.code == .clientCertificateRefused, "\(String(describing: closure))")
            _ = try await socket.abort()
        }
    }
}

/// A policy that allows two retries without a wait, and records the questions.
private final class TwoRetries: RetryPolicy {
    let questions = Log<RetryContext>()

    func delay(for context: RetryContext) -> Duration? {
        questions.append(context)
        return context.retryCount < 2 ? .zero : nil
    }
}
