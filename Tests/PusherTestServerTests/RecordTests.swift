import Foundation
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Records", .limited)
struct RecordTests {
    @Test("the server records events in order")
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

    @Test("a wait that times out throws a readable error")
    func timeout() async throws {
        let server = PusherTestServer()
        let error = await #expect(throws: PusherTestServer.ServerError.self) {
            try await server.waitForSubscription(to: "news", timeout: .milliseconds(1))
        }
        #expect(error?.code == .waitTimedOut)
        #expect(error?.description.contains("1 subscription(s) to channel news") == true)
        #expect(error?.localizedDescription == error?.message)
    }

    @Test("the error of a wait contains the last ten records")
    func history() async throws {
        let server = PusherTestServer()
        let idle = await #expect(throws: PusherTestServer.ServerError.self) {
            try await server.waitForConnections(timeout: .milliseconds(1))
        }
        #expect(idle?.message.hasSuffix("No client has connected yet.") == true)
        for number in 1...12 { try server.publish(event: "e\(number)", data: "{}", to: "news") }
        let error = await #expect(throws: PusherTestServer.ServerError.self) {
            try await server.waitForSubscription(to: "orders", timeout: .milliseconds(1))
        }
        let lines = (error?.message ?? "").split(separator: "\n")
        #expect(lines.count == 11)
        #expect(lines.first?.hasSuffix("The last records:") == true)
        #expect(
            lines.last
                == "  #11 - eventPublished e12 on news to 0"
        )
    }

    @Test("a record is one line without header fields and bodies, and is cut after 240 characters")
    func description() {
        let request = Request(
            method: "POST",
            target: "/pusher/auth?token=1",
            headers: ["Authorization": "Bearer x"],
            body: Array("socket_id=1.2".utf8)
        )
        let record = PusherTestServer.Record(index: 3, socketID: nil, event: .requestAnswered(request, status: 200))
        #expect(record.description == "#3 - requestAnswered POST /pusher/auth 200")
        let text = String(repeating: "x", count: 500)
        let long = PusherTestServer.Record(index: 4, socketID: "1.2", event: .messageReceived(text)).description
        #expect(long.hasPrefix("#4 1.2 messageReceived xxx") && long.count == 241 && long.hasSuffix("…"))
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

    @Test("several waits and the record sequence work at the same time")
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

    @Test("the log drops the oldest records")
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

    @Test("the log drops the oldest records if their messages and bodies are too long in all")
    func size() {
        var log = RecordLog(limit: 100, maximumSize: 1_000)
        let events: [PusherTestServer.Record.Event] = [
            .messageReceived(String(repeating: "x", count: 400)),
            .requestAnswered(Request(target: "/", body: Array(repeating: 0, count: 399)), status: 200),
            .subscribed(channel: "a"), .binaryReceived(Array(repeating: 0, count: 200)),
        ]
        for event in events { log.append(event, socketID: nil) }
        #expect(log.all.map(\.index) == [0, 1, 2, 3])
        log.append(.webhookIssued(body: "x"), socketID: nil)
        #expect(log.all.map(\.index) == [1, 2, 3, 4])
        #expect(log.first(from: 0)?.index == 1)
        log.append(.messageSent(String(repeating: "x", count: 2_000)), socketID: nil)
        #expect(log.all.map(\.index) == [5])
        log.append(.connectionEnded, socketID: nil)
        #expect(log.all.map(\.index) == [6])
    }
}
