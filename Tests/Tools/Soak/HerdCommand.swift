import ArgumentParser
import Foundation
import PusherClient
import PusherTestServer
import TestSupport

struct HerdCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "herd",
        abstract: "Checks that many clients that lose their server recover, and spread their reconnects.",
        discussion: """
            The clients and the server are in this process. The server stops suddenly, and starts again on its port \
            after a while. The first waits of the retry policies must be spread evenly, by the test of Kolmogorov and \
            Smirnov. With \(Histogram.judgedArrivals) or more clients, at most four tenths of them may reconnect in any \
            tenth of the time.
            """
    )

    @Option(help: "The number of clients.")
    var clients = 1_000

    @Option(
        help:
            "The limit of the first wait, in milliseconds. It doubles with each attempt, up to eight times this limit."
    )
    var base = 1_000

    @Option(help: "The length of the outage, in milliseconds.")
    var outage = 3_000

    @Option(help: "The time limit of one step, in seconds.")
    var patience = 280

    func validate() throws {
        let isSensible = clients > 0 && base > 0 && outage > 0 && patience > 0
        guard isSensible else { throw ValidationError("The numbers must be above 0.") }
    }

    func run() async throws {
        OpenFiles.raiseLimit()
        let hangGuard = HangGuard(patience: .seconds(patience), "the server's start")
        var options = PusherTestServer.Options()
        options.host = LoopbackAddress.ofItsOwn()
        let server = PusherTestServer(options: options)
        try await server.start()
        let base = Duration.milliseconds(base)
        let policies = (0..<clients).map { _ in RecordingPolicy(base: base, cap: base * 8) }
        let herd = policies.enumerated().map { index, policy in
            SoakClient(
                server: server,
                host: server.host,
                port: server.port,
                retryPolicy: policy,
                channelNames: ["news", "private-client-\(index)"]
            )
        }
        for client in herd { client.pusher.connect() }
        var socketIDs: [String?] = []
        for (index, client) in herd.enumerated() {
            hangGuard.begin("the first connection of client \(index)")
            socketIDs.append(try await client.waitForRecovery(from: nil))
        }
        // The waits of the first connections are not measured here.
        for policy in policies { policy.forget() }

        hangGuard.begin("the outage")
        await server.shutdown()
        // This wait is the length of the outage.
        try await Task.sleep(for: .milliseconds(outage))
        let arrivals = Arrivals(server)
        let back = ContinuousClock.now
        try await server.start()
        let watch = Task { await arrivals.watch(since: back, count: clients) }
        for (index, client) in herd.enumerated() {
            hangGuard.begin("the recovery of client \(index)")
            _ = try await client.waitForRecovery(from: socketIDs[index])
        }
        let recovered = ContinuousClock.now - back
        hangGuard.begin("the arrivals in the server's records")
        let times = await watch.value
        guard server.subscriptionCount(of: "news") == clients else {
            throw ExitMessage("not all clients are subscribed")
        }
        for index in 0..<clients where server.subscriptionCount(of: "private-client-\(index)") != 1 {
            throw ExitMessage("client \(index) is not subscribed to its channel")
        }
        print("all \(clients) clients recovered with all channels, \(recovered.formatted()) after the server's restart")
        let first = policies.compactMap(\.first)
        let fault = Histogram.waits(first) ?? Histogram.arrivals(times)
        hangGuard.begin("the server's end")
        for client in herd { client.pusher.disconnect() }
        await server.shutdown()
        if let fault { throw ExitMessage(fault) }
        print("\nthe reconnects are spread")
    }
}

/// The times of connections to a server.
struct Arrivals: Sendable {
    private let server: PusherTestServer
    private let records: PusherTestServer.RecordSequence
    private let begin: Int

    init(_ server: PusherTestServer) {
        self.server = server
        records = server.recordSequence
        begin = server.records.last?.index ?? 0
    }

    /// Waits for a number of connections, and returns their times in seconds since the given moment.
    func watch(since moment: ContinuousClock.Instant, count: Int) async -> [Double] {
        var times: [Double] = []
        for await record in records where record.index > begin && record.event == .connectionAccepted {
            times.append((ContinuousClock.now - moment) / .seconds(1))
            if times.count == count { break }
        }
        return times
    }
}
