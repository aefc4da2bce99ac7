/// Events of event streams. The reference only counts the bytes of the response, with async-http-client.
extension Plan {
    var eventStreamSuites: [Suite] {
        [
            suite(size: 169, count: 2_000_000, parser: 0.83, client: 2.5),
            suite(size: 1_032, count: 400_000, parser: nil, client: 1.67), oneLineSuite,
        ]
    }

    private func suite(size: Int, count: Int, parser: Double?, client: Double) -> Suite {
        func run(_ via: String) -> Run { Run("event-stream", via: via, ["size": size, "events": events(count)]) }
        let counter = run("byte-counter")
        return Suite(
            name: "Events of an event stream, \(size) B each: time per event",
            rounds: rounds,
            rows: [
                Row("reference: count of the response's bytes", counter.wall),
                Row(
                    "parser alone, against the reference",
                    run("parser").wall,
                    against: .measured(counter.wall),
                    must: parser
                ),
                Row(
                    "for try await, against the reference",
                    run("client").wall,
                    against: .measured(counter.wall),
                    must: client
                ),
                Row("for try await, CPU, against the reference", run("client").cpu, against: .measured(counter.cpu)),
            ]
        )
    }

    private var oneLineSuite: Suite {
        func run(_ size: Int) -> Run { Run("event-stream", via: "one-line", ["size": size << 20]) }
        return Suite(
            name: "One line of an event stream in chunks of 100 B: time",
            rounds: rounds,
            rows: [
                Row(
                    "32 MiB, against 16 MiB",
                    run(32).wall,
                    against: .measured(run(16).wall),
                    unit: .milliseconds,
                    must: 2.2
                )
            ]
        )
    }
}
