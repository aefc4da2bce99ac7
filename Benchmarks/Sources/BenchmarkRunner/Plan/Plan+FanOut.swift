/// Many channels, and many handlers.
extension Plan {
    var fanOutSuites: [Suite] { [channelSuite, handlerSuite] }

    private var channelSuite: Suite {
        func run(_ via: String, _ channels: Int) -> Run {
            Run("flood", via: via, ["size": 100, "events": events(300_000), "channels": channels])
        }
        let ten = run("event-loop", 10)
        let rows = [
            Row("10 channels, against one", ten.cpu, against: .measured(run("event-loop", 1).cpu)),
            Row("1,000 channels, against 10", run("event-loop", 1_000).cpu, against: .measured(ten.cpu)),
            Row("10,000 channels, against 10", run("event-loop", 10_000).cpu, against: .measured(ten.cpu), must: 2),
        ]
        let raw = Row(
            "raw counter: frames of 10,000 channels, against one",
            run("raw-counter", 10_000).cpu,
            against: .measured(run("raw-counter", 1).cpu)
        )
        return Suite(name: "Events of 100 B on many channels: CPU per event", rounds: rounds, rows: rows + [raw])
    }

    private var handlerSuite: Suite {
        func run(_ handlers: Int, _ count: Int) -> Run {
            Run("flood", via: "event-loop", ["size": 100, "events": events(count), "handlers": handlers])
        }
        let one = run(1, 300_000)
        return Suite(
            name: "Events of 100 B with many callbacks: CPU per event",
            rounds: rounds,
            rows: [
                Row("10 callbacks, against one", run(10, 200_000).cpu, against: .measured(one.cpu)),
                Row("1,000 callbacks, against one", run(1_000, 16_000).cpu, against: .measured(one.cpu)),
            ]
        )
    }
}

/// Encrypted events.
extension Plan {
    var encryptionSuites: [Suite] {
        let targets: [(must: Double, stretch: Double)] = [(1.6, 1.35), (1.5, 1.3), (1.6, 1.3)]
        let rows = zip(Self.sizes, targets).map { size, target in
            func run(_ via: String) -> Run {
                Run("decrypt", via: via, ["size": size.size, "events": events(size.events)])
            }
            return Row(
                "\(size.name), in one process",
                run("client").cpu,
                against: .measured(run("libsodium").cpu),
                must: target.must,
                stretch: target.stretch
            )
        }
        let decoding = Self.sizes.map { size in
            func run(_ via: String, _ count: Int) -> Run {
                Run("decode", via: via, ["size": size.size, "events": events(count)])
            }
            return Row(
                "\(size.name), in one process",
                run("client", size.events).cpu,
                against: .measured(run("json-decoder", size.events / 6).cpu)
            )
        }
        let floods = Self.sizes.map { size in
            func run(_ via: String) -> Run {
                Run("flood", via: via, kind: "encrypted", ["size": size.size, "events": events(size.events / 2)])
            }
            return Row(
                "\(size.name), callback, against the raw counter",
                run("event-loop").cpu,
                against: .measured(run("raw-counter").cpu)
            )
        }
        return [
            Suite(name: "Decoding an envelope, against JSONDecoder: CPU", rounds: rounds, rows: decoding),
            Suite(name: "Decrypting, against libsodium alone: CPU", rounds: rounds, rows: rows),
            Suite(name: "Encrypted events: CPU per event", rounds: rounds, rows: floods),
        ]
    }
}
