/// Connecting, subscribing, and reconnecting.
extension Plan {
    var subscriptionSuites: [Suite] {
        func run(_ measurement: String, _ via: String, _ channels: Int) -> Run {
            Run(measurement, via: via, ["channels": channels])
        }
        func rows(_ measurement: String) -> [Row] {
            let thousand = run(measurement, "client", 1_000)
            let raw = run(measurement, "raw", 1_000)
            let tenThousand = run(measurement, "client", 10_000)
            return [
                Row(
                    "1,000 channels, against bare NIO",
                    thousand.wall,
                    against: .measured(raw.wall),
                    unit: .milliseconds,
                    must: 1.5,
                    stretch: 1.2
                ),
                Row(
                    "1,000 channels, CPU, against bare NIO",
                    thousand.cpu,
                    against: .measured(raw.cpu),
                    unit: .milliseconds
                ),
                Row(
                    "10,000 channels, against bare NIO",
                    tenThousand.wall,
                    against: .measured(run(measurement, "raw", 10_000).wall),
                    unit: .milliseconds
                ),
                Row(
                    "10,000 channels, against 1,000",
                    tenThousand.wall,
                    against: .measured(thousand.wall),
                    unit: .milliseconds,
                    must: measurement == "resubscribe" ? 11 : nil
                ),
            ]
        }
        let authorized = Run("authorize", via: "client", ["channels": 1_000])
        let requests = Run("authorize", via: "raw", ["channels": 1_000])
        let cold = Run("cold-start", via: "client")
        let coldRaw = Run("cold-start", via: "raw")
        return [
            Suite(name: "Connecting and subscribing, cold: time", rounds: rounds + 2, rows: rows("subscribe")),
            Suite(
                name: "Reconnecting: time until all channels are subscribed, no back-off",
                rounds: rounds,
                rows: rows("resubscribe")
            ),
            Suite(
                name: "1,000 private channels through an endpoint that answers at once: time",
                rounds: rounds,
                rows: [
                    Row(
                        "against bare HTTP requests on the same number of connections",
                        authorized.wall,
                        against: .measured(requests.wall),
                        unit: .milliseconds,
                        must: 3,
                        stretch: 1.3
                    ),
                    Row(
                        "CPU, against bare HTTP requests on the same number of connections",
                        authorized.cpu,
                        against: .measured(requests.cpu),
                        unit: .milliseconds
                    ),
                ]
            ),
            Suite(
                name: "From the start of a process to its first event",
                rounds: rounds + 2,
                rows: [Row("against bare NIO", cold.wall, against: .measured(coldRaw.wall), unit: .milliseconds)]
            ),
        ]
    }
}

/// Single events.
extension Plan {
    var latencySuites: [Suite] {
        let settings = ["events": events(2_000), "interval": 1_000]
        let client = Run("latency", via: "client", settings)
        let raw = Run("latency", via: "raw", settings)
        return [
            Suite(
                name: "Latency of a single event: from the server's write to the callback",
                rounds: extent.choose(5, quick: 2, check: 1),
                rows: [
                    Row(
                        "p50, against bare NIO",
                        client.value("p50"),
                        against: .measured(raw.value("p50")),
                        must: 1.4,
                        stretch: 1.1
                    ),
                    Row(
                        "p99, against bare NIO",
                        client.value("p99"),
                        against: .measured(raw.value("p99")),
                        must: 2,
                        stretch: 1.5
                    ),
                ]
            )
        ]
    }
}
