import Foundation
import PusherClient
import PusherProtocol
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import pusher

@Suite("A recorded session of the demo", .limited, .needsSodium)
struct RecordedDemoTests {
    private static let channels = ["orders", "presence-room", "private-chat", "private-encrypted-orders"]

    /// What an app sees of an event.
    private struct Seen: Equatable, Sendable {
        var channel: String
        var event: String
        var data: String?
        var userId: String?
    }

    /// Of members who join and leave, only the id counts: the client's own event has other keys than the server's.
    private func seen(_ channel: String, _ event: String, _ data: String?, _ userId: String?) -> Seen {
        guard event.hasPrefix("pusher:") else {
            return Seen(channel: channel, event: event, data: data, userId: userId)
        }
        let value = data.flatMap { JSONValue(parsing: $0) }
        return Seen(channel: channel, event: event, data: (value?["user_id"] ?? value?["id"])?.string)
    }

    private func makeClient(of server: PusherTestServer) -> Pusher {
        let options = PusherClientOptions(testing: server.access, userId: "recorder", callbackQueue: .eventLoop)
        options.logLevel = .silent
        return Pusher(key: server.access.key, options: options)
    }

    @Test("a recording of the demo replays to the same events in the same order")
    func demo() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("demo.jsonl").path

        try await PusherTestServer.withServer { server in
            let pusher = makeClient(of: server)
            let events = pusher.events
            for name in Self.channels { pusher.subscribe(name) }
            try await pusher.connected()
            for name in Self.channels { try await server.waitForSubscription(to: name) }
            let recording = Task {
                var recorder = try EventRecorder(path: file)
                for await event in events {
                    guard let channel = event.channelName.flatMap({ pusher.channel($0) }) else { continue }
                    try recorder.record(event, on: channel)
                }
            }
            try await Demo(server: server, eventCount: 3, timeline: Timeline { _ in }).run()
            // Everything before this event has then been recorded.
            try await server.waitForSubscription(to: "orders")
            try server.publish(event: "last", data: "{}", to: "orders")
            while try PusherTestServer.Recording(contentsOfFile: file).events.last?.name != "last" {
                try await Task.sleep(for: .milliseconds(10))
            }
            recording.cancel()
            _ = await recording.result
            await pusher.disconnected()
        }

        let recording = try PusherTestServer.Recording(contentsOfFile: file)
        let recorded = recording.events.map { seen($0.channel, $0.name, $0.data, $0.userID) }
        #expect(Set(recorded.map(\.channel)) == Set(Self.channels))
        #expect(recorded.contains { $0.event == "pusher:member_added" })
        #expect(recorded.contains { $0.event.hasPrefix("client-") })

        try await PusherTestServer.withServer { server in
            let pusher = makeClient(of: server)
            let log = Log<Seen>()
            pusher.bind { event in
                let memberEvents = ["pusher:member_added", "pusher:member_removed"]
                guard !event.eventName.hasPrefix("pusher:") || memberEvents.contains(event.eventName) else { return }
                log.append(seen(event.channelName ?? "", event.eventName, event.data, event.userId))
            }
            let (last, continuation) = AsyncStream.makeStream(of: Void.self)
            pusher.bind { event in if event.eventName == "last" { continuation.finish() } }
            for name in Self.channels { pusher.subscribe(name) }
            try await pusher.connected()
            for name in Self.channels { try await server.waitForSubscription(to: name) }
            try await server.replay(recording)
            for await _ in last {}
            #expect(log.elements == recorded)
            await pusher.disconnected()
        }
    }
}
