/// Calls of SignalR. The reference receives the frames with the client's WebSocket transport, and only counts them.
extension Plan {
    var hubSuites: [Suite] { [receivedSuite, invokedSuite] }

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
}
