import ArgumentParser
import SignalRClient
import SignalRTestServer
import TestSupport

struct SignalRCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signalr",
        abstract: "Connects to a hub and stops, again and again, and measures what is left behind.",
        discussion: """
            Over every transport and with both protocols in turn. Half of the connections are stopped, the others are only \
            released. Each makes a call, and leaves a stream open.
            """
    )

    @Option(help: "How many connections, one after the other.")
    var rounds = 10_000

    @Option(help: "What the heap may grow by with each connection, in bytes.")
    var heapLimit = 64.0

    @Option(help: "Only this route, by its index, to find out which one leaves something behind.")
    var only: Int?

    @Option(help: "How long one step may take, in seconds: who is stuck has failed.")
    var patience = 280

    func validate() throws {
        guard rounds >= 200, patience > 0, only.map(Self.routes.indices.contains) != false else {
            throw ValidationError(
                "The rounds have to be 200 or more, and the index from 0 to \(Self.routes.count - 1)."
            )
        }
    }

    private static let routes: [(HttpTransportType, HubProtocolType)] = [
        (.webSockets, .json), (.webSockets, .messagePack), (.serverSentEvents, .json), (.longPolling, .json),
        (.longPolling, .messagePack),
    ]

    func run() async throws {
        OpenFiles.raiseLimit()
        let hangGuard = HangGuard(patience: .seconds(patience), "the server's start")
        let server = try await SignalRTestServer.start()
        var leftovers = Leftovers()
        var objects: [WeakReference] = []
        // The same number of connections of each kind between two samples, so that differences between the kinds do not
        // cause a slope.
        let kinds = 2 * Self.routes.count
        let interval = max(rounds / 20 / kinds, 1) * kinds
        for round in 1...rounds {
            hangGuard.begin("connection \(round)")
            let (transport, hubProtocol) = Self.routes[only ?? round % Self.routes.count]
            let connection = HubConnectionBuilder().withUrl(url: server.url, transport: transport)
                .withHubProtocol(hubProtocol: hubProtocol).withAutomaticReconnect().build()
            await connection.on("x") { (_: Int) in }
            try await connection.start()
            let sum: Int = try await connection.invoke(method: "add", arguments: 40, 2)
            let stream = try await connection.stream("counter", 1_000, 0.01, of: Int.self)
            for try await _ in stream { break }
            guard sum == 42 else { throw ExitMessage("the answer is wrong") }
            objects.append(WeakReference(connection.engineObject))
            if round.isMultiple(of: 2) { await connection.stop() }
            guard round.isMultiple(of: interval) else { continue }
            // All except the connection of this round, which is still in use here.
            await server.waitForEnds(objects.count - 1)
            await waitUntil { objects.dropLast().allSatisfy { $0.object == nil } }
            objects.removeAll()
            server.forgetRecords()
            leftovers.measure(after: round)
        }
        hangGuard.begin("the server's end")
        await server.shutdown()
        try leftovers.report("\(rounds) connections", heapLimit: heapLimit)
    }
}

private struct WeakReference {
    private(set) weak var object: AnyObject?

    init(_ object: AnyObject) { self.object = object }
}
