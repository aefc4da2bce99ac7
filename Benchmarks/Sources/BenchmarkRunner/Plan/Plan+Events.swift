/// The cost of an event, in each style of receiving it.
extension Plan {
    var eventSuites: [Suite] {
        let targets = [
            Targets(callback: (0.9, 0.7), mainQueue: (2.5, 2)),
            Targets(callback: (1.25, 1.05), mainQueue: (1.7, 1.4)),
            Targets(callback: (4, 3.2), mainQueue: (1.4, 1.2)),
        ]
        let known = [
            Known(loop: 0.11, raw: 0.44, scan: 0.65, json: 4.4),
            Known(loop: 0.42, raw: 0.81, scan: 1.31, json: 13.8),
            Known(loop: 4.1, raw: 2.35, scan: 8.1, json: 107),
        ]
        let sized = zip(Self.sizes, zip(targets, known)).map { size, figures in
            suite(of: size, figures.0, known: figures.1)
        }
        return sized + (hasTLS ? [secureSuite] : []) + [streamingSuite, presenceStormSuite, clientEventSuite]
    }

    /// The value that a measurement must reach, and a better value.
    private struct Targets {
        let callback: (must: Double, stretch: Double)
        let mainQueue: (must: Double, stretch: Double)
    }

    /// The times of good references on another machine with two cores, which may be faster or slower than this machine.
    /// Foundation's decoder is the same on both machines, so the times of the other references should differ by the
    /// same factor as the decoder's time.
    private struct Known {
        let loop: Double
        let raw: Double
        let scan: Double
        let json: Double
    }

    private func flood(_ via: String, _ size: Int, _ count: Int, _ more: [String: Int] = [:]) -> Run {
        Run("flood", via: via, ["size": size, "events": events(count)].merging(more) { $1 })
    }

    private func suite(
        of size: Size,
        _ targets: Targets,
        known: Known
    ) -> Suite {
        let cLoop = flood("c-loop", size.size, size.events * 2)
        let raw = flood("raw-counter", size.size, size.events)
        let scan = flood("scan-dispatch", size.size, size.events)
        let json = flood("json-decoder", size.size, size.events / 6)
        let loop = flood("event-loop", size.size, size.events)
        let main = flood("main-queue", size.size, size.events)
        let sequence = flood("async-sequence", size.size, size.events)
        return Suite(
            name: "Events of \(size.name): CPU per event",
            rounds: rounds,
            rows: [
                Row("reference: loop in C (\(known.loop) µs elsewhere)", cLoop.cpu),
                Row(
                    "reference: raw frame counter (\(known.raw) µs elsewhere)",
                    raw.cpu,
                    against: .known(known.raw, where: json.cpu, took: known.json),
                    must: 1.3
                ),
                Row(
                    "reference: scan, unescape, dispatch (\(known.scan) µs elsewhere)",
                    scan.cpu,
                    against: .known(known.scan, where: json.cpu, took: known.json),
                    must: 1.3
                ),
                Row("reference: JSONDecoder (\(known.json.short) µs elsewhere)", json.cpu),
                Row(
                    "callback on the event loop, against the raw counter",
                    loop.cpu,
                    against: .measured(raw.cpu),
                    must: targets.callback.must,
                    stretch: targets.callback.stretch
                ),
                Row("JSONDecoder, against the raw counter", json.cpu, against: .measured(raw.cpu)),
                Row(
                    "main queue, against the event loop",
                    main.cpu,
                    against: .measured(loop.cpu),
                    must: targets.mainQueue.must,
                    stretch: targets.mainQueue.stretch
                ),
                Row(
                    "async sequence, against the callback",
                    sequence.cpu,
                    against: .measured(loop.cpu),
                    must: 2,
                    stretch: 1.5
                ),
                Row("time per event, against the raw counter", loop.wall, against: .measured(raw.wall)),
            ]
        )
    }

    private var secureSuite: Suite {
        let raw = flood("raw-counter", 1_000, 150_000, ["tls": 1])
        let loop = flood("event-loop", 1_000, 150_000, ["tls": 1])
        return Suite(
            name: "Events of 1 kB over wss: CPU per event",
            rounds: rounds,
            rows: [
                Row(
                    "callback on the event loop, against the raw counter over TLS",
                    loop.cpu,
                    against: .measured(raw.cpu)
                ),
                Row(
                    "extra cost of TLS, against the extra cost for the raw counter",
                    loop.cpu.without(flood("event-loop", 1_000, 150_000)),
                    against: .measured(raw.cpu.without(flood("raw-counter", 1_000, 150_000))),
                    must: 1.3,
                    stretch: 1.1
                ),
            ]
        )
    }

    private var streamingSuite: Suite {
        Suite(
            name: "Events over HTTP streaming: CPU per event",
            rounds: rounds,
            rows: zip(Self.sizes, [2, 2, 2.5]).map { size, must in
                Row(
                    "\(size.name), against a WebSocket",
                    flood("http-streaming", size.size, size.events).cpu,
                    against: .measured(flood("event-loop", size.size, size.events).cpu),
                    must: must
                )
            }
        )
    }

    private var presenceStormSuite: Suite {
        let raw = Run("presence-storm", via: "raw-counter", ["members": 10_000])
        let client = Run("presence-storm", via: "event-loop", ["members": 10_000])
        return Suite(
            name: "10,000 joins and leaves on one presence channel: CPU per message",
            rounds: rounds,
            rows: [Row("callbacks for members, against the raw counter", client.cpu, against: .measured(raw.cpu))]
        )
    }

    private var clientEventSuite: Suite {
        let raw = Run("client-events", via: "raw", ["events": events(40_000)])
        let client = Run("client-events", via: "client", ["events": events(40_000)])
        return Suite(
            name: "Client events, until the server has received all",
            rounds: rounds,
            rows: [
                Row("CPU per event, against bare NIO", client.cpu, against: .measured(raw.cpu)),
                Row("time per event, against bare NIO", client.wall, against: .measured(raw.wall)),
            ]
        )
    }
}
