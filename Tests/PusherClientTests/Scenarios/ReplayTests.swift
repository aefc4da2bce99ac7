import Foundation
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Replaying a recording", .limited, .overEachTransport)
struct ReplayTests {
    let world = VirtualWorld()

    private func log(_ channel: PusherChannel, to log: Log<String>) {
        _ = channel.bind(eventName: "created") { log.append("\(channel.name) \($0.data ?? "-")") }
        _ = channel.bind(eventName: "client-typing") {
            log.append("\(channel.name) \($0.userId ?? "-") types \($0.data ?? "-")")
        }
        _ = channel.bind(eventName: "pusher:member_added") { log.append("\(channel.name) + \($0.data ?? "")") }
        _ = channel.bind(eventName: "pusher:member_removed") { log.append("\(channel.name) - \($0.data ?? "")") }
    }

    @Test("events, members and their client events arrive in the recorded order, on every kind of channel")
    func order() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "me"))
        let events = Log<String>()
        let names = ["orders", "private-orders", "presence-room", "cache-orders"]
        let channels = names.map { pusher.subscribe($0) }
        for channel in channels { log(channel, to: events) }
        await world.runUntil { channels.allSatisfy(\.subscribed) }
        let text = """
            {"recording":"pusher","version":1}
            {"time":0,"channel":"orders","event":"created","data":"{\\"id\\":1}"}
            {"time":1,"channel":"presence-room","event":"pusher:member_added","data":"{\\"user_id\\":\\"ben\\",\\"user_info\\":{\\"name\\":\\"Ben\\"}}"}
            {"time":2,"channel":"presence-room","event":"client-typing","user_id":"ben","data":"{\\"on\\":true}"}
            {"time":3,"channel":"private-orders","event":"created","data":"2"}
            {"time":4,"channel":"presence-room","event":"pusher:member_removed","data":"{\\"user_id\\":\\"ben\\"}"}
            {"time":5,"channel":"cache-orders","event":"created"}
            {"time":6,"channel":"elsewhere","event":"created","data":"3"}
            {"time":7,"channel":"orders","event":"pusher:subscription_count","data":"{}"}
            {"time":8,"channel":"orders","event":"created","data":"4"}
            """
        let recording = try PusherTestServer.Recording(text: text)
        let count = try await world.server.replay(recording)
        await world.runUntil { events.count == 7 }
        #expect(
            events.elements == [
                #"orders {"id":1}"#, #"presence-room + {"id":"ben","info":{"name":"Ben"}}"#,
                #"presence-room ben types {"on":true}"#, "private-orders 2",
                #"presence-room - {"id":"ben","info":{"name":"Ben"}}"#, "cache-orders -", "orders 4",
            ]
        )
        #expect(count == 5)
    }

    @Test("the events of an encrypted channel are encrypted again", .needsSodium)
    func encrypted() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("private-encrypted-orders")
        let events = Log<String>()
        log(channel, to: events)
        await world.runUntil { channel.subscribed }
        let event = PusherTestServer.Recording.Event(time: .zero, channel: channel.name, name: "created", data: "1")
        try await world.server.replay(.init(events: [event]))
        await world.runUntil { events.count == 1 }
        #expect(events.elements == ["private-encrypted-orders 1"])
    }

    @Test("the times between events are the recorded ones, divided by the speed")
    func speed() async throws {
        let recording = PusherTestServer.Recording(
            events: [0, 4, 4, 10].map { .init(time: .seconds($0), channel: "a", name: "e", data: "\($0)") }
        )
        let clock = RecordingClock()
        try await world.server.replay(recording, speed: 2, clock: clock)
        #expect(clock.sleeps.elements == [.seconds(2), .seconds(3)])
        for speed in [0, -1, Double.infinity, .nan] {
            let error = try await #require(throws: PusherTestServer.ServerError.self) {
                try await world.server.replay(recording, speed: speed, clock: clock)
            }
            #expect(error.code == .invalidRecording)
        }
    }
}

/// A clock on which every sleep ends at once, at its deadline.
private final class RecordingClock: Clock {
    typealias Instant = ContinuousClock.Instant

    let sleeps = Log<Duration>()
    private let start = ContinuousClock.now

    var now: Instant { start + sleeps.elements.reduce(.zero, +) }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws { sleeps.append(deadline - now) }
}
