import NIOCore
import NIOPosix
import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

@Suite(.limited) struct ServerShutdownTests {
    @Test func connectingInMemoryAfterTheShutdownFails() async throws {
        try await withServer(inMemory: true) { server in
            let connection = server.connect(HubConnectionBuilder.patient.withUrl(url: server.url)).build()
            await server.shutdown()
            let error = await #expect(throws: SignalRClientError.self) { try await connection.start() }
            #expect(error?.code == .connectionFailed)
            await connection.stop()
        }
    }

    @Test func aCallOfAClientAfterTheShutdownFails() async throws {
        try await withServer { server in
            let calls = Inbox<TestHubCall>()
            server.on("enter") { (call: TestHubCall) in calls.add(call) }
            let connection = Route.all[0].builder(server).build()
            try await connection.start()
            try await connection.invoke(method: "enter")
            let call = try await calls.next()
            await server.shutdown()
            await #expect(throws: CancellationError.self) { try await call.invoke("add", 1, 2, returning: Int.self) }
            await connection.stop()
        }
    }

    @Test func theSequencesOfCallsEnd() async throws {
        try await withServer(inMemory: true) { server in
            let replaced = server.calls(of: "x", as: Int.self)
            let calls = server.calls(of: "X", as: Int.self)
            for await _ in replaced {}
            await server.shutdown()
            for await _ in calls {}
            for await _ in server.calls(of: "x", as: Int.self) {}
        }
    }

    @Test(arguments: Route.all) func theShutdownEndsEachConnection(_ route: Route) async throws {
        try await withConnection(route, mayEnd: true) { connection, server in
            await server.setSilent(true)
            await server.shutdown()
            await wait(connection) { if case .stopped = $0 { true } else { false } }
        }
    }

    @Test func theShutdownClosesIdleTCPConnections() async throws {
        try await withServer { server in
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: server.port).get()
            await server.shutdown()
            try await channel.closeFuture.get()
        }
    }
}
