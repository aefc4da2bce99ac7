import ArgumentParser
import SignalRClient
import SignalRTestServer
import TestSupport

struct SignalRCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signalr",
        abstract: "Connects to a hub and stops repeatedly, and measures leaks.",
        discussion: """
            The command uses each supported combination of transport and protocol in turn. It stops half of the \
            connections, and only releases the others. Each connection makes a call, and cancels a stream.
            """
    )

    @Option(help: "The number of connections. They are opened one at a time.")
    var rounds = 10_000

    @Option(help: "The allowed growth of the heap for each connection, in bytes.")
    var heapLimit = 64.0

    @Option(help: "Uses only the route with this index, to find the cause of a leak.")
    var only: Int?

    @Option(help: "The time limit of one step, in seconds.")
    var patience = 280

    func validate() throws {
        guard rounds >= 200, patience > 0, only.map(Self.routes.indices.contains) != false else {
            throw ValidationError(
                "Use at least 200 rounds, a patience above 0, and an index from 0 to \(Self.routes.count - 1)."
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
        // Between two samples, the number of connections of each kind is constant. If it varied, differences between
        // the kinds would cause a slope.
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
            // The connection of this round is still in use here.
            await server.waitForDisconnections(count: objects.count - 1)
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
