/// Typed events: the data of an event is decoded as a type of the app.
extension Plan {
    var typedSuites: [Suite] {
        [decodingSuite, encodingSuite] + Self.sizes.map { typedSuite(of: $0) } + [otherClientsSuite]
    }

    private func decoding(_ via: String, _ size: Size) -> Run { coding("decode-value", via, size) }

    private func coding(_ measurement: String, _ via: String, _ size: Size) -> Run {
        let count = via == "client" ? size.events : size.events / 6
        return Run(measurement, via: via, ["size": size.size, "events": events(count)])
    }

    private var decodingSuite: Suite {
        let speed = Self.sizes.map { size in
            Row(
                "\(size.name), against JSONDecoder",
                decoding("client", size).cpu,
                against: .measured(decoding("json-decoder", size).cpu),
                must: 1.0 / 6
            )
        }
        // The document has one array, and all of its strings are short except for the note.
        let allocations = Self.sizes.map { size in
            Row(
                "\(size.name), allocations, against JSONDecoder",
                decoding("client", size).allocations,
                against: .measured(decoding("json-decoder", size).allocations),
                unit: .plain
            )
        }
        let count = Row(
            "1 kB, allocations; one array and one long string",
            decoding("client", Self.sizes[1]).allocations,
            unit: .plain,
            must: 5
        )
        return Suite(
            name: "Decoding typed data, in one process: CPU",
            rounds: rounds,
            rows: speed + allocations + [count]
        )
    }

    private var encodingSuite: Suite {
        let rows = Self.sizes.map { size in
            Row(
                "\(size.name), against JSONEncoder",
                coding("encode-value", "client", size).cpu,
                against: .measured(coding("encode-value", "json-encoder", size).cpu),
                must: 1.0 / 3
            )
        }
        return Suite(name: "Encoding typed data, in one process: CPU", rounds: rounds, rows: rows)
    }

    private func typedSuite(of size: Size) -> Suite {
        func flood(_ via: String, _ count: Int) -> Run {
            Run("flood", via: via, ["size": size.size, "events": events(count)])
        }
        let typed = flood("typed-sequence", size.events / 2)
        let strings = flood("async-sequence", size.events)
        var rows = [
            Row(
                "typed sequence, against a JSONDecoder of the app",
                typed.cpu,
                against: .measured(flood("typed-sequence-json-decoder", size.events / 6).cpu)
            ),
            Row("typed sequence, against the sequence of strings", typed.cpu, against: .measured(strings.cpu)),
            Row(
                "typed sequence, without the sequence of strings and without decoding",
                typed.cpu.without(strings, decoding("client", size)),
                must: size.size == 1_000 ? 2 : nil
            ),
        ]
        if scripts.contains(Run.pusherJS) {
            rows.append(
                Row(
                    "typed sequence, against pusher-js",
                    typed.cpu,
                    against: .measured(flood(Run.pusherJS, size.events / 3).cpu),
                    must: size.size == 100 ? nil : 1.0 / 3
                )
            )
        }
        return Suite(name: "Typed events of \(size.name): CPU per event", rounds: rounds, rows: rows)
    }

    /// The same document through the other clients.
    private var otherClientsSuite: Suite {
        func stream(_ via: String) -> Run {
            Run("event-stream", via: via, ["size": 1_008, "events": events(100_000)])
        }
        func hub(_ via: String) -> Run {
            Run("hub-received", via: via, ["kind": 3, "size": 1_000, "events": events(60_000)])
        }
        return Suite(
            name: "Typed data of 1 kB through the other clients: CPU per event",
            rounds: rounds,
            rows: [
                Row(
                    "event stream, against a JSONDecoder of the app",
                    stream("typed").cpu,
                    against: .measured(stream("typed-json-decoder").cpu)
                ),
                Row(
                    "SignalR in JSON, against a JSONDecoder of the app",
                    hub("typed-handler").cpu,
                    against: .measured(hub("typed-handler-json-decoder").cpu)
                ),
            ]
        )
    }
}
