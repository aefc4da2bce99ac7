/// Memory use.
extension Plan {
    var memorySuites: [Suite] {
        guard hasMemory else { return [] }
        func connections(_ via: String, _ tls: Int) -> Measured {
            let count = extent.choose(1_000, quick: 300, check: 50)
            return Run("memory-connections", via: via, ["count": count, "tls": tls]).value("resident")
        }
        func channels(_ bound: Int) -> Measured {
            Run("memory-channels", via: "client", ["count": 10_000, "bound": bound]).value("resident")
        }
        let members = Run("memory-members", via: "client", ["count": 10_000]).value("resident")
        var rows = [
            Row(
                "idle connection, ws, against bare NIO",
                connections("client", 0),
                against: .measured(connections("raw", 0)),
                unit: .kilobytes,
                must: 1.8
            )
        ]
        if hasTLS {
            rows += [
                Row(
                    "idle connection, wss, against bare NIO",
                    connections("client", 1),
                    against: .measured(connections("raw", 1)),
                    unit: .kilobytes,
                    must: 1.8
                )
            ]
        }
        rows += [
            Row("channel", channels(0), unit: .kilobytes, must: 1.5, stretch: 0.7),
            Row("channel with a callback", channels(1), unit: .kilobytes),
            Row("presence member", members, unit: .kilobytes),
        ]
        return [
            Suite(name: "Memory for each", rounds: extent.choose(3, quick: 1), rows: rows),
            allocationSuite, slowConsumerSuite,
        ]
    }

    private var slowConsumerSuite: Suite {
        let rows = ["async-sequence", "main-queue"].flatMap { via in
            let run = Run(
                "slow-consumer",
                via: via,
                ["limit": extent.choose(10_000, quick: 4_000, check: 500), "size": 1_000]
            )
            let name = via == "async-sequence" ? "unread sequence" : "blocked callback queue"
            return [
                Row(
                    "\(name): after 5 times as many events, against the first",
                    run.value("last"),
                    against: .measured(run.value("first")),
                    unit: .kilobytes,
                    must: 1.25
                ),
                Row("\(name): for each kept event", run.value("perEvent"), unit: .kilobytes),
            ]
        }
        return Suite(
            name: "A flood of 1 kB events without a consumer: memory",
            rounds: extent.choose(3, quick: 1),
            rows: rows
        )
    }

    private var allocationSuite: Suite {
        func flood(_ via: String, _ size: Int) -> Run {
            Run("flood", via: via, ["size": size, "events": events(150_000)])
        }
        let runs =
            [
                ("Pusher, 100 B, callback", flood("event-loop", 100)),
                ("Pusher, 1 kB, callback", flood("event-loop", 1_000)),
                ("Pusher, 1 kB, sequence", flood("async-sequence", 1_000)),
                ("event stream, 169 B", Run("event-stream", via: "client", ["size": 169, "events": events(500_000)])),
                (
                    "bytes of the response, 169 B",
                    Run("event-stream", via: "byte-counter", ["size": 169, "events": events(500_000)])
                ),
            ] + Self.hubKinds.map { name, kind, via in ("SignalR, 1 kB, \(name)", received(kind, 1_000, via: via)) }
        let rows = runs.flatMap { name, run in
            [
                Row("\(name): allocated bytes", run.allocated, unit: .plain),
                Row("\(name): allocations", run.allocations, unit: .plain),
            ]
        }
        return Suite(name: "Allocations for each event or call", rounds: 1, rows: rows)
    }
}
