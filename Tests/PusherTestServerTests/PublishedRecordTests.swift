import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Records of published events", .limited)
struct PublishedRecordTests {
    private func reach(_ actions: [ServerAction]) -> [String] {
        actions.compactMap { action in
            guard case .record(_, .eventPublished(let name, let channel, let count)) = action else { return nil }
            return "\(name) on \(channel): \(count)"
        }
    }

    @Test("records contain the number of recipients of an event, even if it is 0")
    func count() throws {
        var server = BrainTranscript.connected(3)
        _ = server.subscribe(1, "a")
        _ = server.subscribe(2, "a")
        _ = server.subscribe(3, "b")
        let event = try PublishedEvent(name: "e", data: "1", channels: ["a", "b", "c"])
        #expect(reach(server.brain.publish(event)) == ["e on a: 2", "e on b: 1", "e on c: 0"])
        let excluding = try PublishedEvent(name: "e", data: "1", channels: ["b"], socketID: "7.3")
        #expect(reach(server.brain.publish(excluding)) == ["e on b: 0"])
        _ = server.brain.setSilent(true, .socket("7.1"))
        #expect(reach(server.brain.publish(event)) == ["e on a: 1", "e on b: 1", "e on c: 0"])
    }
}
