import SignalRCore
import TestSupport
import TestTraits
import Testing

/// Tests of the properties that the machine has in every state, for every input.
@Suite(.limited) struct StateMatrixTests {
    enum Situation: CaseIterable, Sendable {
        case stopped, opening, handshaking, connected, longPolling, asking, waiting, reconnecting, reconnectHandshaking
        case startAsking, startWaiting, startRetrying, startRetryHandshaking
        case closing, closingBeforeStart, resuming, reopening, synchronizing, serverClosing
        case refreshing

        func build(reconnects: Bool) -> World {
            var world = World(reconnects: reconnects || needsPolicy)
            switch self {
            case .stopped: break
            case .opening: world.start()
            case .handshaking:
                world.start()
                world.open()
            case .connected: world.connect()
            case .longPolling: world.connect(.longPolling)
            case .asking, .waiting, .reconnecting, .reconnectHandshaking:
                world.connect()
                world.close()
                if self != .asking { world.decide(.seconds(2)) }
                if self == .reconnecting || self == .reconnectHandshaking { world.advance(by: .seconds(2)) }
                if self == .reconnectHandshaking { world.open() }
            case .startAsking, .startWaiting, .startRetrying, .startRetryHandshaking:
                world.start(retries: true)
                world.fail()
                if self != .startAsking { world.decide(.seconds(2)) }
                if self == .startRetrying || self == .startRetryHandshaking { world.advance(by: .seconds(2)) }
                if self == .startRetryHandshaking { world.open() }
            case .closing, .closingBeforeStart:
                world.connect()
                world.stop()
                if self == .closingBeforeStart { world.start() }
            case .resuming, .reopening, .synchronizing:
                world.connect(.resumable)
                world.invoke()
                world.close()
                if self != .resuming { world.advance(by: .zero) }
                if self == .synchronizing { world.open(.resumable) }
            case .refreshing:
                world.connect(.resumable.expiring(after: .seconds(10)))
                world.refresh()
                world.refresh()
            case .serverClosing:
                world.connect()
                world.receive(.close(error: "bye", allowReconnect: false))
            }
            return world
        }

        private var needsPolicy: Bool { [.asking, .waiting, .reconnecting, .reconnectHandshaking].contains(self) }
    }

    typealias Input = @Sendable (inout World) -> Void

    static let inputs: [(name: String, apply: Input)] = [
        ("start", { $0.start() }), ("start, retried", { $0.start(retries: true) }), ("stop", { $0.stop() }),
        (
            "start and cancel",
            { world in
                let start = world.start()
                world.input { $0.cancelStart(start, now: $1) }
            }
        ),
        ("opened", { $0.open() }), ("opened, resumable", { $0.open(.resumable) }), ("failed", { $0.fail() }),
        ("handshake", { $0.receiveHandshake() }), ("refusal", { $0.receive(bytes: Handshake.response(error: "x")) }),
        ("closed", { $0.close() }), ("closed without an error", { $0.close(nil) }),
        ("close message", { $0.receive(.close(error: "x", allowReconnect: false)) }),
        ("close message, reconnect", { $0.receive(.close(error: nil, allowReconnect: true)) }),
        ("garbage", { $0.receive(bytes: [0x1E, 0x1E]) }), ("sequence", { $0.receive(.sequence(1)) }),
        ("large sequence", { $0.receive(.sequence(.max)) }), ("ack", { $0.receive(.ack(.max)) }),
        ("invocation", { $0.receive(.invocation(HubInvocation(id: "1", target: "x"))) }),
        ("invoke", { $0.invoke() }), ("stream", { $0.stream() }), ("send", { $0.send() }),
        (
            "upload",
            { world in
                let upload = CallID(world.nextSerial())
                world.send(uploads: [upload])
                world.upload(upload)
                world.input { $0.endUpload(upload, error: nil, now: $1) }
            }
        ),
        (
            "cancel",
            { world in
                for call in world.calls { world.input { $0.cancelCall(call, now: $1) } }
            }
        ),
        ("opened, expiring", { $0.open(.resumable.expiring(after: .seconds(4))) }), ("refresh", { $0.refresh() }),
        ("refreshed", { $0.answerRefresh(.success(.seconds(2))) }),
        ("not refreshed", { $0.answerRefresh(.failure(.test)) }),
        ("decision", { $0.decide(.seconds(1)) }), ("no decision", { $0.decide(nil) }),
        ("next timer", { world in if let due = world.machine.wakeUp { world.advance(by: due - world.now) } }),
        ("a minute", { $0.advance(by: .seconds(60)) }),
    ]

    @Test(arguments: Situation.allCases, [false, true])
    func everyInputIsSafeInEveryState(_ situation: Situation, reconnects: Bool) {
        for (name, apply) in Self.inputs {
            for (second, applySecond) in Self.inputs {
                var world = situation.build(reconnects: reconnects)
                apply(&world)
                applySecond(&world)
                world.finishAll()
                #expect(world.violations == [], "\(situation), \(name), \(second)")
            }
        }
    }

    /// For each seed, the test makes 1,000 steps, and most steps give the machine one input.
    @Test(arguments: 1...100) func aRandomWalkKeepsAllPromises(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var world = World(generator.oneIn(2) ? .json : .messagePack, reconnects: !generator.oneIn(4)) {
            $0.resumptionBufferSize = 200
        }
        for step in 0..<1000 {
            // Without the inputs of the first cases, few random walks would get beyond a start.
            switch Int.random(in: 0..<10, using: &generator) {
            case 0 where world.machine.state == .stopped: world.start(retries: generator.oneIn(2))
            case 1 where world.machine.state == .connecting, 2 where world.machine.state == .reconnecting:
                world.decide(.zero)
                world.advance(by: .zero)
                let info = generator.oneIn(2) ? TransportInfo.resumable : .webSocket
                world.open(generator.oneIn(2) ? info : info.expiring(after: .seconds(3)))
                world.receiveHandshake()
            case 3:
                guard let call = world.calls.randomElement(using: &generator) else { continue }
                world.receive(.streamItem(id: "\(call)", item: world.machine.configuration.hubProtocol.null))
                world.receive(.completion(id: "\(call)", generator.oneIn(2) ? .void : .error("x")))
            case 4: world.advance(by: .milliseconds(Int.random(in: 0...5000, using: &generator)))
            default: Self.inputs.randomElement(using: &generator)?.apply(&world)
            }
            _ = world.take()
            if !world.violations.isEmpty {
                Issue.record("Seed \(seed), step \(step): \(world.violations)")
                return
            }
        }
        world.finishAll()
        #expect(world.violations == [])
    }
}
