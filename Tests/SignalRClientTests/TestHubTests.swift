import NIOCore
import NIOPosix
import SignalRClient
import SignalRCore
import TestSupport
import TestTraits
import Testing

@testable import RealtimeTestHTTP
@testable import SignalRTestServer

@Suite(.limited) struct TestHubTests {
    private final class UnusedLink: ServerLink {
        let transport = HttpTransportType.webSockets

        func write(_ bytes: [UInt8], isBinary: Bool, pieceSize: Int?) {}
        func close() {}
        func drop() {}
    }

    @Test func aNewTransportAndTheEndCancelTheTimerOfALoss() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let cancelled = Log<Int>()
        try await eventLoop.submit {
            var options = TestHubOptions()
            options.disconnectTimeout = .seconds(3_600)
            let brain = HubBrain(options, shared: SharedRecords(), entrance: HubEntrance(on: eventLoop))
            let connection = brain.makeConnection(headers: [:])
            connection.resumption = Resumption(limit: .max)
            for loss in 1...2 {
                let link = UnusedLink()
                brain.attach(link, to: connection)
                brain.detach(link, from: connection)
                connection.timers[.transport]?.task.futureResult.whenFailure { _ in cancelled.append(loss) }
            }
            brain.end(connection)
        }.get()
        #expect(cancelled.elements == [1, 2])
    }

    @Test func timesHaveLimits() {
        let times: [(Double, TimeAmount)] = [
            (.infinity, .seconds(1_000_000_000)), (1e300, .seconds(1_000_000_000)), (.nan, .seconds(0)),
            (-1, .seconds(0)), (0.5, .milliseconds(500)),
        ]
        for (seconds, time) in times { #expect(TimeAmount(Duration(clampingSeconds: seconds)) == time) }
    }

    @Test func aHubMayHaveInfiniteTimes() async throws {
        var options = TestHubOptions()
        options.keepAliveInterval = .seconds(Int64.max)
        options.pollTimeout = .seconds(Int64.max)
        options.disconnectTimeout = .seconds(Int64.max)
        try await withServer(options) { server in
            let calls = Inbox<TestHubCall>()
            server.on("enter") { (call: TestHubCall) in calls.add(call) }
            let polling = HubConnectionBuilder.patient.withUrl(url: server.url, transport: .longPolling).build()
            try await polling.start()
            try await polling.invoke(method: "enter")
            let call = try await calls.next()
            await polling.stop()

            let builder = HubConnectionBuilder.patient.withUrl(url: server.url).withStatefulReconnect()
            let resumable = server.connect(builder).build()
            try await resumable.start()
            server.dropConnections()
            let sum = try await resumable.invoke("add", 40, 2, returning: Int.self)
            #expect(sum == 42)
            await resumable.stop()

            let slow = BuiltInMethods.body("slow")
            let argument = try call.coder.encode(1e300)
            let task = Task { try await slow?(call, [argument]) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func anUpgradeOfAClosedChannelLeavesNoLink() async throws {
        try await withServer { server in
            let eventLoop = server.entrance.eventLoop
            let channel = try await ClientBootstrap(group: eventLoop)
                .connect(host: "127.0.0.1", port: server.port).get()
            try await channel.close()
            let exchange = HTTPTestExchange(channel, .init(isLast: true, webSocketKey: "dGhlIHNhbXBsZSBub25jZQ=="))
            let request = HTTPTestRequest(target: "/hub", fields: [HTTPTestField(name: "Upgrade", value: "websocket")])
            let linkCount = await withCheckedContinuation { (continuation: CheckedContinuation<Int, Never>) in
                server.enter { $0.answer(ReceivedRequest(request), exchange) }
                // The end of the channel enters the brain after the upgrade.
                server.enter { brain in
                    brain.entrance.enter { brain in
                        continuation.resume(returning: brain.connections.values.count { $0.link != nil })
                    }
                }
            }
            #expect(linkCount == 0)
            #expect(server.requests.count == 1)
        }
    }
}
