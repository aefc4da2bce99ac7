import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import PusherEncryption
import PusherProtocol
import RealtimeHTTP
import RealtimeTestHTTP
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Webhooks", .limited)
struct WebhookTests {
    private func connected(_ count: Int, _ change: (inout Options) -> Void = { _ in }) -> BrainTranscript {
        BrainTranscript.connected(count) { options in
            options.webhookURL = "http://localhost/hook"
            change(&options)
        }
    }

    private func events(_ actions: [ServerAction]) -> [String] {
        actions.compactMap { action in
            guard case .webhook(let body) = action else { return nil }
            let start = #"{"time_ms":0,"events":"#
            return body.hasPrefix(start) ? String(body.dropFirst(start.count).dropLast()) : body
        }
    }

    @Test("webhooks contain the time in milliseconds")
    func time() {
        var server = connected(1)
        server.brain.unixMilliseconds = 1_327_078_148_132
        let bodies = events(server.subscribe(1, "a"))
        #expect(bodies.first?.hasPrefix(#"{"time_ms":1327078148132,"#) == true, "\(bodies)")
        let before = Int(Date().timeIntervalSince1970 * 1_000)
        let time = SystemTime.unixMilliseconds
        #expect((before...Int(Date().timeIntervalSince1970 * 1_000)).contains(time))
    }

    @Test("the signature matches the example in Pusher's documentation")
    func vector() {
        let body = #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
        let sender = WebhookSender(url: "http://localhost", application: AuthorizationTests.application)
        let headers = sender.headers(for: body)
        #expect(headers["X-Pusher-Key"] == "278d425bdf160c739803")
        #expect(
            headers["X-Pusher-Signature"]
                == "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf"
        )
    }

    @Test("webhooks report a channel as occupied at the first subscriber, and as vacated some time after the last")
    func occupation() {
        var server = connected(2)
        #expect(events(server.subscribe(1, "a")) == [#"[{"name":"channel_occupied","channel":"a"}]"#])
        #expect(events(server.subscribe(2, "a")).isEmpty)
        _ = server.unsubscribe(1, "a")
        #expect(server.unsubscribe(2, "a") == [.schedule(timer(1), after: .seconds(3))])
        #expect(server.subscribe(1, "a") == [.cancel(timer(1)), .succeeded(1, "a")])
        #expect(server.fire(1).isEmpty)
        #expect(server.brain.dropConnections(.all).withoutRecords.contains(.schedule(timer(2), after: .seconds(3))))
        #expect(events(server.fire(2)) == [#"[{"name":"channel_vacated","channel":"a"}]"#])
        #expect(server.brain.absences.isEmpty)
    }

    @Test("webhooks report a member who returns soon only once")
    func members() {
        var server = connected(3)
        #expect(
            events(server.join(1, "presence-x", "1")) == [
                #"[{"name":"channel_occupied","channel":"presence-x"},"#
                    + #"{"name":"member_added","channel":"presence-x","user_id":"1"}]"#
            ]
        )
        #expect(
            events(server.join(2, "presence-x", "2")) == [
                #"[{"name":"member_added","channel":"presence-x","user_id":"2"}]"#
            ]
        )
        #expect(events(server.join(3, "presence-x", "2")).isEmpty)
        _ = server.unsubscribe(2, "presence-x")
        #expect(server.unsubscribe(3, "presence-x").contains(.schedule(timer(1), after: .seconds(3))))
        #expect(events(server.join(2, "presence-x", "2")).isEmpty)
        _ = server.unsubscribe(2, "presence-x")
        #expect(
            events(server.fire(2)) == [#"[{"name":"member_removed","channel":"presence-x","user_id":"2"}]"#]
        )
    }

    @Test("webhooks report client events, cache misses and counts")
    func others() {
        var server = connected(2) { $0.sendsSubscriptionCounts = true }
        _ = server.join(1, "presence-x", "1")
        #expect(
            events(server.clientEvent(1, "client-e", #"{"a":1}"#, "presence-x")) == [
                #"[{"name":"client_event","channel":"presence-x","event":"client-e","data":"{\"a\":1}","#
                    + #""socket_id":"7.1","user_id":"1"}]"#
            ]
        )
        #expect(
            events(server.subscribe(1, "cache-x")) == [
                #"[{"name":"channel_occupied","channel":"cache-x"},{"name":"cache_miss","channel":"cache-x"},"#
                    + #"{"name":"subscription_count","channel":"cache-x","subscription_count":1}]"#
            ]
        )
        #expect(
            events(server.unsubscribe(1, "cache-x")) == [
                #"[{"name":"subscription_count","channel":"cache-x","subscription_count":0}]"#
            ]
        )
    }

    @Test("the server makes no webhooks for users' own channels, or without a URL")
    func nothing() {
        var server = connected(1)
        _ = server.signIn(1, #"{"id":"a"}"#)
        #expect(server.subscribe(1, "#server-to-user-a") == [.succeeded(1, "#server-to-user-a")])
        #expect(server.unsubscribe(1, "#server-to-user-a").isEmpty)
        var other = BrainTranscript.connected()
        #expect(other.subscribe(1, "a") == [.succeeded(1, "a")])
        #expect(other.unsubscribe(1, "a").isEmpty)
    }

    @Test(
        "the server posts a webhook up to six times until a post succeeds, and records each try",
        arguments: [
            ([200], ["200"]), ([500, 404, 204], ["500", "404", "204"]), ([nil, 299], ["failed", "299"]),
            ([302, nil, 500, nil, 500, 503, 200], ["302", "failed", "500", "failed", "500", "503"]),
        ] as [([Int?], [String])]
    )
    func answers(statuses: [Int?], outcomes: [String]) async {
        struct Unreachable: Error {}
        let answers = NIOLockedValueBox(statuses[...])
        let delays = NIOLockedValueBox<[Duration]>([])
        let reported = NIOLockedValueBox<[String]>([])
        let webhook = WebhookSender.Webhook(body: "{}") { event in
            let outcome =
                switch event {
                case .webhookAnswered(let status): "\(status)"
                case .webhookFailed: "failed"
                default: "\(event)"
                }
            reported.withLockedValue { $0.append(outcome) }
        }
        let environment = WebhookSender.Environment(
            post: { _ in
                guard let status = answers.withLockedValue({ $0.popFirst() ?? nil }) else { throw Unreachable() }
                return status
            },
            sleep: { delay in delays.withLockedValue { $0.append(delay) } }
        )
        await WebhookSender.send(webhook, "http://localhost", AuthorizationTests.application, environment)
        #expect(reported.withLockedValue { $0 } == outcomes)
        let expected = (0..<outcomes.count - 1).map { Duration.milliseconds(100 << $0) }
        #expect(delays.withLockedValue { $0 } == expected)
    }

    @Test("the sender of webhooks starts before the server listens, and stops if the server cannot listen")
    func failedStart() async throws {
        struct Failure: Error {}
        let options = Options()
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let sender = WebhookSender(url: "http://localhost/hook", application: options.application)
        let engine = ServerEngine(options: options, eventLoop: eventLoop, webhooks: sender) { 1_700_000_000 }
        let wasOpen = NIOLockedValueBox(false)
        let listener = Listener(eventLoop: eventLoop, host: options.host, port: 0) {
            wasOpen.withLockedValue { $0 = sender.isOpen }
            throw Failure()
        }
        let server = PusherTestServer(options: options, engine: engine, listener: listener, webhooks: sender)
        await #expect(throws: Failure.self) { try await server.start() }
        #expect(wasOpen.withLockedValue { $0 })
        #expect(!sender.isOpen)
    }

    @Test("a server in memory records webhooks with its virtual time")
    func inMemory() {
        let loop = EmbeddedEventLoop()
        var options = Options()
        options.webhookURL = "http://localhost/hook"
        let network = InMemoryServer(eventLoop: loop, options: options)
        let link = network.open(Request(target: "/app/app-key"), on: loop) { _ in }
        link.send(Envelope.subscribe(channel: "a").jsonText)
        loop.run()
        link.abort()
        loop.advanceTime(by: .seconds(4))
        let bodies = network.server.webhooks
        #expect(
            bodies
                == ["occupied", "vacated"].map { name in
                    #"{"time_ms":1700000000000,"events":[{"name":"channel_\#(name)","channel":"a"}]}"#
                }
        )
    }
}
