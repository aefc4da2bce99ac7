import Chat
import PusherClient
import PusherTestServer
import XCTest

/// A test of the app in XCTest, with the same server.
final class ChatRoomXCTests: XCTestCase {
    @MainActor
    func testAnnouncementsArrive() async throws {
        let server = PusherTestServer()
        try await server.start()
        addTeardownBlock { await server.shutdown() }
        let options = PusherClientOptions(testing: server.access)
        let room = ChatRoom("room", key: server.access.key, options: options)
        let arrived = expectation(description: "the announcement")
        room.onChange = { state in if state.lines == [.announcement("Six.")] { arrived.fulfill() } }
        let run = Task { try await room.run() }
        defer { run.cancel() }
        try await server.waitForSubscription(to: "private-encrypted-room")
        try server.publish(event: "announcement", data: #"{"text": "Six."}"#, to: "private-encrypted-room")
        await fulfillment(of: [arrived], timeout: 60)
    }
}
