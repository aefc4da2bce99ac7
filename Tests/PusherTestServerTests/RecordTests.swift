import PusherProtocol
import TestSupport
import Testing

@testable import PusherTestServer

@Suite("Records", .timeLimit(.minutes(5)))
struct RecordTests {
    @Test("what happens is recorded in order")
    func order() async throws {
        try await PusherTestServer.withServer { server in
            let client = try await SocketClient.connect(to: server, headers: ["X-Test: 1"])
            let socketID = try await client.socketID()
            client.send(Envelope.subscribe(channel: "a").jsonText)
            try await server.waitForSubscription(to: "a", timeout: .patience)
            client.drop()
            try await server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
            let events = server.records.map(\.event)
            guard case .connectionRequested(let request)? = events.first else {
                Issue.record("no request")
                return
            }
            #expect(request.header("x-test") == "1")
            #expect(
                events.dropFirst() == [
                    .connectionAccepted,
                    .messageSent(Dialect.pusher.connectionEstablished(socketID: socketID, activityTimeout: 120)),
                    .messageReceived(Envelope.subscribe(channel: "a").jsonText), .subscribed(channel: "a"),
                    .messageSent(Dialect.pusher.subscriptionSucceeded(channel: "a")), .connectionEnded,
                ]
            )
            #expect(server.records.allSatisfy { $0.socketID == socketID })
            #expect(server.receivedMessages(from: socketID) == [Envelope.subscribe(channel: "a").jsonText])
        }
    }

    @Test("a wait ends with a readable error")
    func timeout() async throws {
        let server = PusherTestServer()
        let error = await #expect(throws: PusherTestServer.ServerError.self) {
            try await server.waitForSubscription(to: "news", timeout: .milliseconds(1))
        }
        #expect(error?.code == .timeout)
        #expect(error?.description.contains("1 subscription(s) to channel news") == true)
    }

    @Test("a wait ends when its task is cancelled")
    func cancellation() async throws {
        let server = PusherTestServer()
        let waiting = Task { try await server.nextRecord(timeout: .seconds(60)) { _ in false } }
        let reading = Task {
            var count = 0
            for await _ in server.recordSequence { count += 1 }
            return count
        }
        waiting.cancel()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(await reading.value == 0)
    }

    @Test("several waits at once, and the sequence")
    func concurrentWaits() async throws {
        try await PusherTestServer.withServer { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for count in 1...5 {
                    group.addTask { _ = try await server.waitForConnections(count: count, timeout: .patience) }
                }
                group.addTask {
                    var accepted = 0
                    for await record in server.recordSequence where record.event == .connectionAccepted {
                        accepted += 1
                        if accepted == 5 { return }
                    }
                }
                for _ in 1...5 {
                    let client = try await SocketClient.connect(to: server)
                    _ = try await client.socketID()
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("the log forgets the oldest")
    func limit() {
        var log = RecordLog(limit: 10)
        for number in 0..<5_000 {
            log.append(.subscribed(channel: "\(number)"), socketID: nil)
            #expect(log.all.count == min(10, number + 1))
        }
        #expect(log.all.map(\.index) == Array(4_990..<5_000))
        #expect(log.first(from: 0)?.index == 4_990)
        #expect(log.first(from: 4_995)?.index == 4_995)
        #expect(log.first(from: 5_000) == nil)
    }
}
