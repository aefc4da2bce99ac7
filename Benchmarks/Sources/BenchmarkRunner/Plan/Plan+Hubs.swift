/// Calls of SignalR. The reference receives the frames with the client's WebSocket transport, and only counts them.
extension Plan {
    var hubSuites: [Suite] {
        [receivedSuite, invokedSuite] + (scripts.contains(Run.signalRJS) ? [javaScriptSuite] : [])
    }

    /// The kinds of hub messages. The generator uses the same number for each kind.
    static let hubKinds = [
        (name: "JSON, one handler", kind: 0, via: "handler"),
        (name: "MessagePack, one handler", kind: 1, via: "handler"),
        (name: "JSON, items of a stream", kind: 2, via: "stream"),
    ]

    func received(_ kind: Int, _ size: Int, via: String) -> Run {
        Run(
            "hub-received",
            via: via,
            ["kind": kind, "size": size, "events": events(size == 100 ? 200_000 : 100_000)]
        )
    }

    private var receivedSuite: Suite {
        let rows = Self.hubKinds.flatMap { name, kind, via in
            [(100, "100 B"), (1_000, "1 kB")].map { size, sizeName in
                // Calls in JSON are about as long as the items of a stream, so both have the same reference.
                Row(
                    "\(name), \(sizeName), against the frame counter",
                    received(kind, size, via: via).cpu,
                    against: .measured(received(kind % 2, size, via: "frame-counter").cpu)
                )
            }
        }
        return Suite(name: "Calls of a SignalR client by its hub: CPU per call", rounds: rounds, rows: rows)
    }

    private var invokedSuite: Suite {
        let rows = [1, 100].map { callers in
            func run(_ via: String) -> Run {
                Run("hub-invoked", via: via, ["callers": callers, "events": events(callers == 1 ? 20_000 : 100_000)])
            }
            return Row(
                "\(callers) at once, against frames that are answered",
                run("invoke").wall,
                against: .measured(run("frame-counter").wall)
            )
        }
        return Suite(name: "Calls of a hub that answers at once: time per call", rounds: rounds, rows: rows)
    }

    /// The same work with Microsoft's JavaScript client.
    private var javaScriptSuite: Suite {
        func row(
            _ title: String,
            _ measurement: String,
            _ settings: [String: Int],
            via: String,
            must: Double? = nil
        ) -> Row {
            Row(
                title,
                Run(measurement, via: via, settings).cpu,
                against: .measured(Run(measurement, via: Run.signalRJS, settings).cpu),
                must: must
            )
        }
        let protocols = [(0, "JSON"), (1, "MessagePack")]
        var rows: [Row] = []
        for (kind, name) in protocols {
            let calls = ["kind": kind, "callers": 64, "events": events(100_000)]
            rows.append(
                row("\(name), calls, 64 at once", "hub-invoked", calls, via: "invoke", must: kind == 1 ? 1 : nil)
            )
        }
        for (kind, name) in protocols {
            let items = ["kind": kind, "size": 100, "events": events(100_000)]
            rows.append(row("\(name), items of an upload, 100 B", "hub-uploaded", items, via: "upload", must: 1.2))
        }
        for (name, kind, via) in Self.hubKinds {
            let burst = ["kind": kind, "size": 100, "events": events(200_000)]
            rows.append(row("\(name), a burst, 100 B", "hub-received", burst, via: via))
        }
        let document = ["kind": 3, "size": 1_000, "events": events(60_000)]
        rows.append(row("JSON, typed data, 1 kB", "hub-received", document, via: "typed-handler"))
        return Suite(name: "SignalR against Microsoft's JavaScript client: CPU", rounds: rounds, rows: rows)
    }
}
