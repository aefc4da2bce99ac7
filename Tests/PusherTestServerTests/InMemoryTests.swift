import NIOCore
import NIOEmbedded
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("The server in memory, in virtual time", .limited)
struct InMemoryTests {
    private final class Setup {
        let loop = EmbeddedEventLoop()
        let server: InMemoryServer
        private let inbox: NIOLoopBoundBox<[InMemoryLink.Event]>

        init(_ change: (inout Options) -> Void = { _ in }) {
            var options = Options()
            options.socketIDPrefix = 7
            change(&options)
            server = InMemoryServer(eventLoop: loop, options: options)
            inbox = NIOLoopBoundBox([], eventLoop: loop)
        }

        deinit {
            // Drop the connections, because server, links and timers retain each other.
            server.server.dropConnections()
            try? loop.syncShutdownGracefully()
        }

        func open(_ target: String = "/app/app-key") -> InMemoryLink {
            let inbox = self.inbox
            return server.open(Request(target: target), on: loop) { event in inbox.value.append(event) }
        }

        /// Runs all work that is due, and returns the events since the last call.
        func events(after time: TimeAmount = .zero) -> [InMemoryLink.Event] {
            loop.advanceTime(by: time)
            defer { inbox.value = [] }
            return inbox.value
        }
    }

    private static let established = InMemoryLink.Event.text(
        Dialect.pusher.connectionEstablished(socketID: "7.1", activityTimeout: 120)
    )

    @Test("a client gets events, but never during a call of the client")
    func conversation() throws {
        let setup = Setup()
        let link = setup.open()
        #expect(setup.events() == [.opened(subprotocol: nil), Self.established])
        link.send(Envelope.subscribe(channel: "a").jsonText)
        #expect(setup.events() == [.text(Dialect.pusher.subscriptionSucceeded(channel: "a"))])
        link.sendPing([1])
        #expect(setup.events() == [.pong([1])])
        try setup.server.server.publish(event: "e", data: "{}", to: "a")
        #expect(setup.events() == [.text(#"{"event":"e","data":"{}","channel":"a"}"#)])
        link.close(code: 1000)
        #expect(setup.events() == [.closed(code: 1000, reason: "")])
        #expect(setup.server.server.connections.isEmpty)
        #expect(setup.server.links.isEmpty)
        link.send("late")
        #expect(setup.events().isEmpty)
    }

    @Test("the client notices that the server closes or drops the connection")
    func endings() {
        let setup = Setup()
        _ = setup.open()
        _ = setup.events()
        setup.server.server.closeConnections(code: 4200, reason: "again")
        #expect(setup.events() == [.closed(code: 4200, reason: "again")])
        #expect(setup.server.links.isEmpty)
        _ = setup.open()
        _ = setup.events()
        setup.server.server.dropConnections()
        #expect(setup.events() == [.dropped])
        let ends = setup.server.server.records.filter { $0.event == .connectionEnded }
        #expect(ends.count == 2)
    }

    @Test("a client gets no events after an abort")
    func abort() {
        let setup = Setup()
        let link = setup.open()
        _ = setup.events()
        link.send(Envelope.ping.jsonText)
        link.abort()
        #expect(setup.events().isEmpty)
        #expect(setup.server.server.connections.isEmpty)
        let unopened = setup.open()
        unopened.abort()
        #expect(setup.events().isEmpty)
        #expect(setup.server.server.connections.isEmpty && setup.server.links.isEmpty)
    }

    @Test("latency applies in both directions")
    func latency() {
        let setup = Setup()
        setup.server.latency = .milliseconds(50)
        let link = setup.open()
        #expect(setup.events(after: .milliseconds(99)).isEmpty)
        #expect(setup.events(after: .milliseconds(1)) == [.opened(subprotocol: nil), Self.established])
        link.send(Envelope.ping.jsonText)
        #expect(setup.events(after: .milliseconds(99)).isEmpty)
        #expect(setup.events(after: .milliseconds(1)) == [.text(Dialect.pusher.pong)])
    }

    @Test("the server's timers run in virtual time")
    func timers() {
        let setup = Setup { $0.pingInterval = .seconds(60) }
        _ = setup.open()
        _ = setup.events()
        #expect(setup.events(after: .seconds(59)).isEmpty)
        #expect(setup.events(after: .seconds(1)) == [.text(Dialect.pusher.ping)])
        #expect(setup.events(after: .seconds(29)).isEmpty)
        #expect(setup.events(after: .seconds(1)) == [.closed(code: 4201, reason: "Pong reply not received in time")])
    }

    @Test("the server delays messages for the requested time")
    func delay() {
        let setup = Setup()
        setup.server.server.delayMessages(by: .seconds(3))
        _ = setup.open()
        #expect(setup.events() == [.opened(subprotocol: nil)])
        #expect(setup.events(after: .seconds(2)).isEmpty)
        #expect(setup.events(after: .seconds(1)) == [Self.established])
    }

    @Test("each fault makes links fail in its own way")
    func linkFaults() {
        let setup = Setup()
        setup.server.failLinks(1, with: .unreachable)
        _ = setup.open()
        #expect(setup.events() == [.unreachable])
        setup.server.failLinks(with: .blackHole)
        let lost = setup.open()
        #expect(setup.events(after: .hours(1)).isEmpty)
        lost.abort()
        setup.server.failLinks(with: nil)
        let link = setup.open()
        #expect(setup.events().count == 2)
        setup.server.blackHoleLinks()
        link.send(Envelope.ping.jsonText)
        setup.server.server.sendText("x")
        #expect(setup.events().isEmpty)
        setup.server.restoreLinks()
        link.send(Envelope.ping.jsonText)
        #expect(setup.events() == [.text(Dialect.pusher.pong)])
        setup.server.cutLinks()
        #expect(setup.events() == [.dropped])
        #expect(setup.server.server.connections.isEmpty)
    }

    @Test("each upgrade fault of the network blocks WebSockets, but not other requests")
    func blockedUpgrades() {
        let setup = Setup()
        for (fault, events) in [
            (PusherTestRelay.UpgradeFault.swallowed, []), (.answered(status: 400), [.refused(status: 400)]),
            (.answered(status: 426), [.refused(status: 426)]), (.reset, [.dropped]),
        ] as [(PusherTestRelay.UpgradeFault, [InMemoryLink.Event])] {
            setup.server.blockUpgrades(with: fault)
            let link = setup.open()
            #expect(setup.events(after: .hours(1)) == events)
            link.abort()
        }
        let statuses = NIOLoopBoundBox<[Int]>([], eventLoop: setup.loop)
        let exchange = setup.server.request(InMemoryRequest(target: "/app/app-key/1/a/xhr"), on: setup.loop) { event in
            if case .head(let status, _) = event { statuses.value.append(status) }
        }
        _ = setup.events()
        exchange.abort()
        #expect(statuses.value == [200])
        setup.server.blockUpgrades(with: nil)
        _ = setup.open()
        #expect(setup.events().first == .opened(subprotocol: nil))
    }

    @Test("each fault makes upgrades fail in its own way")
    func upgradeFaults() {
        let setup = Setup()
        setup.server.server.failConnections(1, with: .refused(status: 503))
        weak let refused = setup.open()
        #expect(setup.events() == [.refused(status: 503)])
        #expect(setup.server.server.records.last?.event == .connectionEnded)
        #expect(refused == nil)
        setup.server.server.failConnections(1, with: .stalled)
        _ = setup.open()
        #expect(setup.events(after: .hours(1)).isEmpty)
        setup.server.server.failConnections(1, with: .closed(code: 4200))
        _ = setup.open()
        #expect(setup.events() == [.opened(subprotocol: nil), .closed(code: 4200, reason: "")])
    }

    @Test("REST requests need no socket")
    func rest() async throws {
        let setup = Setup()
        let box = NIOLoopBoundBox("", eventLoop: setup.loop)
        let signed = SignedRESTRequest(
            method: "GET",
            path: "/apps/1/channels",
            application: setup.server.server.options.application,
            timestamp: 1_700_000_000
        )
        setup.server.request(Request(target: signed.pathAndQuery)) { answer in
            box.value = answer.map { "\($0.status) \($0.body)" } ?? ""
        }
        _ = setup.events()
        #expect(box.value == #"200 {"channels":{}}"#)
    }

    @Test("the server runs on the event loop of an asynchronous test")
    func asyncTestingLoop() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let server = InMemoryServer(eventLoop: loop)
        let link = server.open(Request(target: "/app/app-key"), on: loop) { _ in }
        link.send(Envelope.subscribe(channel: "a").jsonText)
        await loop.run()
        try await server.server.waitForSubscription(to: "a", timeout: .patience)
        await server.server.shutdown()
        await loop.run()
        #expect(server.server.connections.isEmpty)
        await loop.shutdownGracefully()
    }
}
