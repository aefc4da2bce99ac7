import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

/// Tests of programs in Swift 5 mode, in which closures can capture values that are not Sendable.
@Suite(.limited) struct SignalRSwift5ProgramTests {
    final class ViewModel {
        var messages: [String] = []
        var closed = 0
        let connection: HubConnection

        init(_ connection: HubConnection) { self.connection = connection }

        func observe() {
            connection.onReconnecting { _ in }
            connection.onReconnected {}
        }
    }

    @Test func theDocumentedProgramWorks() async throws {
        let server = try await SignalRTestServer.start()
        let connection = documentedBuilders(url: server.url)[0].build()
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        try await documentedProgram(connection) { continuation.yield($0) }
        var received: Set<String> = []
        for await line in lines {
            received.insert(line)
            if line.hasPrefix("closed") { break }
        }
        #expect(received.isSuperset(of: ["sum 42", "item 2", "total 6", "closed true"]))
        await server.shutdown()
    }

    @Test func closuresMayCaptureWhatIsNotSendable() async throws {
        let server = try await SignalRTestServer.start()
        let connection = HubConnectionBuilder().withUrl(url: server.url).withAutomaticReconnect().build()
        let model = ViewModel(connection)
        model.observe()
        let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
        var count = 0
        await connection.on("message") { (text: String) in
            count += text.count
            continuation.yield()
        }
        try await connection.start()
        try await connection.invoke(method: "call_me", arguments: "message", "12345")
        for await _ in ended { break }
        #expect(count == 5 && model.messages.isEmpty)
        await connection.stop()
        await server.shutdown()
    }
}
