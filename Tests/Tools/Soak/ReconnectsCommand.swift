import ArgumentParser
import Foundation
import PusherClient
import PusherTestServer
import TestSupport

struct ReconnectsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconnects",
        abstract: "One client loses its connection again and again; memory, descriptors and threads have to stay flat.",
        discussion: """
            The client, with a channel of each kind, reaches the test server through a relay, which are both in the same \
            process. The connection is lost in seven ways in turn, and has to come back with all channels each time. \
            After a warm-up the usage of the process is taken a hundred times; it is flat where a line through those \
            points does not rise by more than the limits: the heap's, and two descriptors or threads over the whole run.
            """
    )

    @Option(help: "How many losses to measure.")
    var rounds = 10_000

    @Option(help: "How many losses to begin with, which are not measured.")
    var warmUp = 1_000

    @Option(help: "What the heap may grow by with each reconnect, in bytes.")
    var heapLimit = 16.0

    @Option(help: "Only this way to lose the connection, to find out which one leaves something behind.")
    var only: Loss?

    @Option(help: "How long one step may take, in seconds: who is stuck has failed.")
    var patience = 280

    func validate() throws {
        guard rounds > 0, warmUp >= 0, patience > 0 else { throw ValidationError("The numbers have to be above 0.") }
    }

    func run() async throws {
        var options = PusherTestServer.Options()
        // Data that is kept on purpose must not look like a leak.
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
            // Always after the same kind of loss, so that differences between the kinds do not cause a slope.
            guard loss == losses.last, Double(samples.count) * Double(rounds) <= 100 * Double(round - warmUp)
            else { continue }
            samples.append((Double(round - warmUp), .now()))
        }
        let duration = ContinuousClock.now - start
        hangGuard.begin("disconnecting")
        await client.pusher.disconnected()
        print("\(rounds) reconnects after \(warmUp) that were not measured, in \(duration.formatted())")
        for loss in losses { print("  \(counts[loss] ?? 0) by \(loss.rawValue)") }
        try report(samples)
    }

    private func report(_ samples: [(step: Double, usage: ProcessUsage)]) throws {
        // A sample may be taken while an object is about to be released. In a short run one such object causes a slope.
        // A leak in each loss, or in each one of a kind, is many times as large.
        let countLimit = 2 / Double(rounds)
        // The memory from the system may grow until the allocator has enough; it is shown, not checked.
        let rows: [(name: String, path: KeyPath<ProcessUsage, Double>, limit: Double?)] = [
            ("heap, bytes", \.heap, heapLimit), ("resident, bytes", \.resident, nil),
            ("descriptors", \.descriptors, countLimit), ("threads", \.threads, countLimit),
        ]
        print("\n" + ["", "first", "last", "least", "most", "slope for each reconnect"].joined(separator: " | "))
        var faults: [String] = []
        for row in rows {
            let points = samples.map { (step: $0.step, value: $0.usage[keyPath: row.path]) }
            let values = points.map(\.value)
            let slope = Slope(points).perStep
            let shown = [values.first, values.last, values.min(), values.max()].map { String(format: "%.0f", $0 ?? 0) }
            print(([row.name] + shown + [String(format: "%+.5f", slope)]).joined(separator: " | "))
            if let limit = row.limit, slope > limit { faults.append("\(row.name): \(slope) is more than \(limit)") }
        }
        guard faults.isEmpty else { throw ExitMessage("not flat: \(faults.joined(separator: "; "))") }
        print("\nflat")
    }
}
