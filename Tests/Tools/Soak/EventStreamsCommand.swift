import ArgumentParser
import EventSourceTestServer
import ServerSentEvents
import TestSupport

struct EventStreamsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "event-streams",
        abstract: "Opens and cancels event streams repeatedly, and measures leaks."
    )

    @Option(help: "The number of streams. They are opened one at a time.")
    var rounds = 10_000

    @Option(help: "The time limit of one step, in seconds.")
    var patience = 280

    func validate() throws {
        guard rounds >= 100, patience > 0 else {
            throw ValidationError("Use at least 100 rounds, and a patience above 0.")
        }
    }

    func run() async throws {
        OpenFiles.raiseLimit()
        let hangGuard = HangGuard(patience: .seconds(patience), "the server's start")
        let server = try await EventSourceTestServer.start()
        server.respond { exchange in
            try await exchange.start()
            try await exchange.send("data: x\n\n")
            await exchange.disconnected()
        }
        var leftovers = Leftovers()
        for round in 1...rounds {
            hangGuard.begin("stream \(round)")
            for try await _ in EventStream(server.url).events { break }
            guard round.isMultiple(of: rounds / 20) else { continue }
            await waitUntil { server.connectionCount == 0 }
            // The server's log of requests is not a leak of the client.
            server.forgetRequests()
            leftovers.measure(after: round)
        }
        hangGuard.begin("the server's end")
        await server.shutdown()
        try leftovers.report("\(rounds) streams", heapLimit: 64)
    }
}
