/// Calls of SignalR, against the same WebSocket with its frames only counted.
extension Plan {
    var hubSuites: [Suite] { [receivedSuite, invokedSuite] }

    private var receivedSuite: Suite {
        let rows = [false, true].flatMap { isMessagePack in
            [(100, 200_000, "100 B"), (1_000, 100_000, "1 kB")].map { size, count, name in
                func run(_ via: String) -> Run {
                    Run(
                        "hub-received",
                        via: via,
                        ["messagepack": isMessagePack ? 1 : 0, "size": size, "events": events(count)]
                    )
                }
                return Row(
                    "\(isMessagePack ? "MessagePack" : "JSON"), \(name), one handler, against the frame counter",
                    run("handler").cpu,
                    against: .measured(run("frame-counter").cpu)
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
