import ArgumentParser
import Foundation
import PusherClient
import PusherTestServer
import TestSupport

struct ReconnectsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconnects",
        abstract: "Checks that a client that loses its connection repeatedly leaks no memory, descriptors or threads.",
        discussion: """
            The client has five channels, and connects through a relay to the test server. All three are in the same \
            process. The connection is lost in seven ways in turn, and the client must recover with all channels \
            each time. After a warm-up, the command measures the process about a hundred times. A line through these \
            measurements must not rise by more than the limits. The limits are the heap limit, and two descriptors or \
            threads for the whole run.
            """
    )

    @Option(help: "The number of losses to measure.")
    var rounds = 10_000

    @Option(help: "The number of losses before the measurement.")
    var warmUp = 1_000

    @Option(help: "The allowed growth of the heap for each reconnect, in bytes.")
    var heapLimit = 16.0

    @Option(help: "Loses the connection only in this way, to find the cause of a leak.")
    var only: Loss?

    @Option(help: "The time limit of one step, in seconds.")
    var patience = 280

    func validate() throws {
        guard rounds > 0, warmUp >= 0, patience > 0 else { throw ValidationError("The numbers must be above 0.") }
    }

    func run() async throws {
        var options = PusherTestServer.Options()
        // Without a limit, the server's records would look like a leak.
        options.maximumRecordCount = 100
        try await PusherTestServer.withServer(options: options) { server in
            var relayOptions = PusherTestRelay.Options(serverHost: server.host, serverPort: server.port)
            relayOptions.maximumRecordCount = 100
            relayOptions.host = LoopbackAddress.ofItsOwn()
            let relay = PusherTestRelay(options: relayOptions)
            try await relay.start()
            try await measure(server, relay)
            await relay.shutdown()
        }
    }

    private func measure(_ server: PusherTestServer, _ relay: PusherTestRelay) async throws {
        let client = SoakClient(
            server: server,
            host: relay.host,
            port: relay.port,
            retryPolicy: .delays([.milliseconds(1)]),
            channelNames: ["orders", "private-orders", "presence-room", "private-encrypted-orders", "cache-orders"]
        )
        let hangGuard = HangGuard(patience: .seconds(patience), "the first connection")
        client.pusher.connect()
        var socketID = try await client.waitForRecovery(from: nil)
        var samples: [(step: Double, usage: ProcessUsage)] = []
        var counts: [Loss: Int] = [:]
        let losses = only.map { [$0] } ?? Loss.allCases
        let start = ContinuousClock.now
        for round in 0..<(warmUp + rounds) {
            let loss = losses[round % losses.count]
            hangGuard.begin("round \(round), \(loss.rawValue)")
            try await loss.befall(client, server, relay)
            socketID = try await client.waitForRecovery(from: socketID)
            guard round >= warmUp else { continue }
            counts[loss, default: 0] += 1
            // All samples follow the same kind of loss, because differences between the kinds would cause a slope.
            guard loss == losses.last, Double(samples.count) * Double(rounds) <= 100 * Double(round - warmUp)
            else { continue }
            samples.append((Double(round - warmUp), .now()))
        }
        let duration = ContinuousClock.now - start
        hangGuard.begin("disconnecting")
        await client.pusher.disconnected()
        print("\(rounds) reconnects after a warm-up of \(warmUp), in \(duration.formatted())")
        for loss in losses { print("  \(counts[loss] ?? 0) by \(loss.rawValue)") }
        try report(samples)
    }

    private func report(_ samples: [(step: Double, usage: ProcessUsage)]) throws {
        // A sample may be taken while an object is about to be released. In a short run one such object causes a slope.
        // A leak at each loss of one kind causes a much larger slope.
        let countLimit = 2 / Double(rounds)
        // The resident memory may grow until the allocator has enough memory. So the command reports this memory, but
        // does not limit it.
        let rows: [(name: String, path: KeyPath<ProcessUsage, Double>, limit: Double?)] = [
            ("heap, bytes", \.heap, heapLimit), ("resident, bytes", \.resident, nil),
            ("descriptors", \.descriptors, countLimit), ("threads", \.threads, countLimit),
        ]
        print("\n" + ["", "first", "last", "minimum", "maximum", "slope for each reconnect"].joined(separator: " | "))
        var faults: [String] = []
        for row in rows {
            let points = samples.map { (step: $0.step, value: $0.usage[keyPath: row.path]) }
            let values = points.map(\.value)
            let slope = Slope(points).perStep
            let shown = [values.first, values.last, values.min(), values.max()].map { String(format: "%.0f", $0 ?? 0) }
            print(([row.name] + shown + [String(format: "%+.5f", slope)]).joined(separator: " | "))
            if let limit = row.limit, slope > limit {
                faults.append("\(row.name): the slope \(slope) exceeds \(limit)")
            }
        }
        guard faults.isEmpty else { throw ExitMessage("not flat: \(faults.joined(separator: "; "))") }
        print("\nflat")
    }
}
