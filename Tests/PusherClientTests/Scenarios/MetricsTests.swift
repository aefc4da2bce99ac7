#if Metrics
    import CoreMetrics
    import Logging
    import MetricsTestKit
    import NIOCore
    import NIOEmbedded
    import PusherTestServer
    import TestTraits
    import Testing

    @testable import PusherClient

    @Suite("Metrics", .limited, .overEachTransport)
    struct MetricsTests {
        let world = VirtualWorld()
        let metrics = TestMetrics()

        private func total(_ label: String, _ dimensions: [(String, String)] = []) -> Int64? {
            try? metrics.expectCounter(label, dimensions).totalValue
        }

        private func level(_ label: String) -> Double? { try? metrics.expectMeter(label).lastValue }

        /// Checks that the counters agree with the statistics.
        private func expectAgreement(_ pusher: Pusher) {
            let statistics = pusher.statistics
            let counts: [(String, Int)] = [
                ("pusher.connection.attempts", statistics.connections.attempts),
                ("pusher.connection.attempts.abandoned", statistics.connections.abandonedAttempts),
                ("pusher.connection.closed", statistics.connections.closed),
                ("pusher.ping.received", statistics.pings.received),
                ("pusher.subscriptions.resubscribed", statistics.subscriptions.resubscribed),
                ("pusher.subscriptions.repeated", statistics.subscriptions.repeated),
                ("pusher.authorizations.begun", statistics.authorizations.begun),
                ("pusher.connection.established", statistics.connections.established),
                ("pusher.connection.refused", statistics.connections.refused),
                ("pusher.connection.given_up", statistics.connections.givenUp),
                ("pusher.ping.sent", statistics.pings.sent), ("pusher.ping.answered", statistics.pings.answered),
                ("pusher.messages.received", statistics.messages.received),
                ("pusher.messages.sent", statistics.messages.sent),
                ("pusher.messages.unsent", statistics.messages.unsent),
                ("pusher.messages.malformed", statistics.messages.malformed),
                ("pusher.messages.ignored", statistics.messages.ignored),
                ("pusher.bytes.received", statistics.messages.bytesReceived),
                ("pusher.bytes.sent", statistics.messages.bytesSent),
                ("pusher.events.received", statistics.events.received),
                ("pusher.events.delivered", statistics.events.delivered),
                ("pusher.events.unhandled", statistics.events.unhandled),
                ("pusher.events.undecryptable", statistics.events.undecryptable),
                ("pusher.subscriptions.succeeded", statistics.subscriptions.succeeded),
                ("pusher.subscriptions.failed", statistics.subscriptions.failed),
                ("pusher.authorizations.tries", statistics.authorizations.tries),
                ("pusher.authorizations.succeeded", statistics.authorizations.succeeded),
                ("pusher.authorizations.failed", statistics.authorizations.failed),
                ("pusher.authorizations.cancelled", statistics.authorizations.cancelled),
                ("pusher.sign_ins.succeeded", statistics.signIns.succeeded),
                ("pusher.sign_ins.failed", statistics.signIns.failed),
                ("pusher.client_events.accepted", statistics.clientEvents.accepted),
                ("pusher.client_events.sent", statistics.clientEvents.sent),
                ("pusher.client_events.dropped", statistics.clientEvents.dropped),
                ("pusher.client_events.rejected", statistics.clientEvents.rejected),
                ("pusher.client_events.rejected_by_server", statistics.clientEvents.rejectedByServer),
            ]
            for (label, count) in counts { #expect(total(label) == Int64(count), "\(label)") }
        }

        @Test("the client reports all counts with the documented names", .needsSodium)
        func everything() async throws {
            let pusher = world.makeClient(.virtual(user: "7"))
            pusher.emitMetrics(to: metrics)
            pusher.connect()
            pusher.signIn()
            let orders = pusher.subscribe("orders")
            let chat = pusher.subscribe("private-chat")
            let secret = pusher.subscribe("private-encrypted-orders")
            pusher.subscribe("no good")
            await world.runUntil { orders.subscribed && chat.subscribed && secret.subscribed }
            await world.runUntil { pusher.user.userId != nil }
            orders.bind(eventName: "e") { _ in }
            await world.endHolding()
            for name in ["e", "f"] { world.server.sendEvent(name, channel: "orders") }
            await world.run()
            world.server.sendEvent("e", channel: "unknown")
            world.server.sendEvent("e", data: "none", channel: secret.name)
            world.server.sendText("none")
            world.server.sendText(#"{"event":"pusher_internal:new"}"#)
            world.server.sendText(#"{"event":"pusher:error","data":{"code":4301,"message":"too fast"}}"#)
            chat.trigger(eventName: "client-a", data: 1)
            chat.trigger(eventName: "wrong", data: 1)
            pusher.checkConnection()
            world.server.sendPing()
            orders.resubscribe()
            await world.run()
            let statistics = pusher.statistics
            #expect(statistics.pings.received == 1 && statistics.subscriptions.resubscribed == 1)
            // These counts must not be zero, because a comparison of zeros would prove little.
            #expect(statistics.events.unhandled > 0 && statistics.events.undecryptable == 1)
            #expect(statistics.messages.malformed == 1 && statistics.messages.ignored > 0)
            #expect(statistics.clientEvents.sent == 1 && statistics.clientEvents.rejected == 1)
            #expect(statistics.clientEvents.rejectedByServer == 1 && statistics.subscriptions.failed == 1)
            #expect(statistics.pings.answered == 1 && statistics.signIns.succeeded == 1)
            expectAgreement(pusher)
            #expect(total("pusher.events.dropped", [("reason", "notSubscribed")]) == 1)
            #expect(level("pusher.connection.up") == 1 && level("pusher.subscriptions.current") == 3)
            world.server.closeConnections(code: 4001)
            await world.run()
            #expect(pusher.statistics.connections.refused == 1)
            expectAgreement(pusher)
            #expect(total("pusher.connection.lost", [("reason", "closed40xx")]) == 1)
            #expect(level("pusher.connection.up") == 0 && level("pusher.subscriptions.current") == 0)
            try await world.atOnce {
                pusher.connect()
                pusher.disconnect()
                pusher.connect()
            }
            await world.runUntil { pusher.connection.connectionState == .connected }
            pusher.disconnect()
            await world.runUntil { pusher.connection.connectionState == .disconnected }
            #expect(pusher.statistics.connections.abandonedAttempts == 1 && pusher.statistics.connections.closed == 1)
            expectAgreement(pusher)
        }

        @Test("a factory can call the client, and gets the metrics of the call", .ofWebSocketOnly)
        func reentrantFactory() async throws {
            let pusher = try await world.makeConnectedClient()
            let chat = pusher.subscribe("private-chat")
            await world.runUntil { chat.subscribed }
            let factory = CallingFactory(metrics) {
                pusher.subscribe("orders")
                chat.trigger(eventName: "client-a", data: 1)
            }
            pusher.emitMetrics(to: factory)
            await world.run()
            #expect(pusher.statistics.subscriptions.succeeded == 2 && pusher.statistics.clientEvents.sent == 1)
            expectAgreement(pusher)
        }

        /// A factory that runs a closure when it creates its first metric and when it gets the first attempts.
        private final class CallingFactory: MetricsFactory {
            private final class CallingCounter: CounterHandler {
                let base: any CounterHandler
                let call: @Sendable () -> Void

                init(_ base: any CounterHandler, _ call: @escaping @Sendable () -> Void) {
                    self.base = base
                    self.call = call
                }

                func increment(by amount: Int64) {
                    base.increment(by: amount)
                    call()
                }
                func reset() { base.reset() }
            }

            private let base: TestMetrics
            private let call: @Sendable () -> Void

            init(_ base: TestMetrics, _ call: @escaping @Sendable () -> Void) {
                self.base = base
                self.call = call
            }

            func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
                let counter = base.makeCounter(label: label, dimensions: dimensions)
                return label == "pusher.connection.attempts" ? CallingCounter(counter, call) : counter
            }
            func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
                base.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
            }
            func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
                base.makeMeter(label: label, dimensions: dimensions)
            }
            func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
                base.makeTimer(label: label, dimensions: dimensions)
            }
            func destroyCounter(_ handler: any CounterHandler) {}
            func destroyRecorder(_ handler: any RecorderHandler) {}
            func destroyMeter(_ handler: any MeterHandler) {}
            func destroyTimer(_ handler: any TimerHandler) {}
        }

        @Test("the client reports failed authorizations and sign-ins, dropped client events and losses")
        func failures() async throws {
            world.server.failAuthorizations(1, with: .status(403))
            let options = PusherClientOptions.virtual(autoReconnect: false)
            let pusher = try await world.makeConnectedClient(options)
            pusher.emitMetrics(to: metrics)
            let first = pusher.subscribe("private-a")
            await world.runUntil { pusher.statistics.authorizations.failed == 1 }
            world.server.failAuthorizations(with: .unanswered)
            pusher.subscribe("private-b").trigger(eventName: "client-a", data: 1)
            // A waiting event causes no report, but the next report includes the event.
            world.server.sendPing()
            await world.runUntil { level("pusher.client_events.waiting") == 1 }
            pusher.unsubscribe("private-b")
            pusher.signIn()
            await world.runUntil { pusher.statistics.signIns.failed == 1 }
            world.network.cutLinks()
            await world.run()
            let statistics = pusher.statistics
            #expect(statistics.connections.givenUp == 1 && statistics.authorizations.cancelled == 1)
            #expect(statistics.clientEvents.dropped == 1)
            expectAgreement(pusher)
            #expect(total("pusher.connection.lost", [("reason", "network")]) == 1)
            #expect(level("pusher.client_events.waiting") == 0)
            _ = first
        }

        @Test("the client reports each duration separately")
        func times() async throws {
            world.server.failAuthorizations(1, with: .delayed(.seconds(2)))
            let pusher = try await world.makeConnectedClient()
            pusher.emitMetrics(to: metrics)
            let channel = pusher.subscribe("private-a")
            await world.runUntil { world.server.authorizationRequests.count == 1 }
            await world.advance(by: .seconds(2))
            await world.runUntil { channel.subscribed }
            for wait in 1...2 {
                world.network.failLinks(wait, with: .unreachable)
                world.network.cutLinks()
                for _ in 0...wait { await world.advance(by: .seconds(1)) }
                await world.runUntil { channel.subscribed }
            }
            pusher.checkConnection()
            await world.run()
            let recovery = try metrics.expectTimer("pusher.connection.recovery").values
            #expect(recovery == [2_000_000_000, 3_000_000_000])
            let latency = try metrics.expectTimer("pusher.authorizations.latency").values
            #expect(latency.count == 3 && latency.first == 2_000_000_000)
            #expect(try metrics.expectTimer("pusher.ping.round_trip").values == [0])
            #expect(total("pusher.connection.attempts.failed", [("reason", "network")]) == 3)
        }

        @Test("a meter counts the events that wait for a key, and falls when the key arrives", .needsSodium)
        func held() async throws {
            let pusher = try await world.makeConnectedClient()
            pusher.emitMetrics(to: metrics)
            let secret = pusher.subscribe("private-encrypted-orders")
            await world.runUntil { secret.subscribed }
            world.server.rotateEncryptionKey()
            world.server.failAuthorizations(1, with: .delayed(.seconds(2)))
            try world.server.publish(event: "e", data: "1", to: secret.name)
            await world.runUntil { level("pusher.events.held") == 1 }
            await world.runUntil { world.server.authorizationRequests.count == 2 }
            await world.advance(by: .seconds(2))
            await world.runUntil { pusher.statistics.events.held == 0 }
            await world.run()
            #expect(level("pusher.events.held") == 0)
            #expect(pusher.statistics.events.undecryptable == 0)
        }

        @Test("the client reports the messages of one read together", .ofWebSocketOnly)
        func batches() async throws {
            let pusher = try await world.makeConnectedClient()
            let orders = pusher.subscribe("orders")
            await world.run()
            try #require(orders.subscribed)
            pusher.emitMetrics(to: metrics)
            await world.run()
            let server = world.server
            try await world.atOnce { for _ in 1...100 { server.sendEvent("e", channel: "orders") } }
            await world.run()
            let values = try metrics.expectCounter("pusher.events.received").values
            #expect(values.reduce(0, +) == 100 && values.count < 10)
        }

        @Test("metrics of several clients with the same factory add up, and a released client's meters fall to zero")
        func shared() async throws {
            let first = try await world.makeConnectedClient()
            var second: Pusher? = world.makeUnheldClient()
            first.emitMetrics(to: metrics)
            second?.emitMetrics(to: metrics)
            second?.connect()
            await world.run()
            #expect(total("pusher.connection.established") == 2 && level("pusher.connection.up") == 2)
            second = nil
            await world.run()
            #expect(level("pusher.connection.up") == 1)
        }

        @Test("after a change of factory, the old meters fall to zero and the new factory gets all counts")
        func anotherFactory() async throws {
            let pusher = try await world.makeConnectedClient()
            pusher.emitMetrics(to: metrics)
            await world.run()
            let other = TestMetrics()
            pusher.emitMetrics(to: other, dimensions: [("client", "a")])
            await world.run()
            #expect(level("pusher.connection.up") == 0)
            let dimensions = [("client", "a")]
            #expect(try other.expectMeter("pusher.connection.up", dimensions).lastValue == 1)
            #expect(try other.expectCounter("pusher.connection.attempts", dimensions).totalValue == 1)
        }
    }
#endif
