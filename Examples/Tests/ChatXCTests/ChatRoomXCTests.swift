import Chat
import PusherClient
import PusherTestServer
import XCTest

/// A test of the app in XCTest, with the same server.
final class ChatRoomXCTests: XCTestCase {
    @MainActor
    func testAnnouncementsArrive() async throws {
        try await PusherTestServer.withServer { server in
            let options = PusherClientOptions(testing: server.access)
            options.logLevel = .silent
            let room = ChatRoom("room", key: server.access.key, options: options)
            let arrived = expectation(description: "the announcement")
            // Later changes of the state fulfill the expectation again.
            arrived.assertForOverFulfill = false
            room.onChange = { state in if state.lines == [.announcement("Six.")] { arrived.fulfill() } }
            let run = Task {
                do { try await room.run() } catch { XCTFail("The room ended: \(error)") }
            }
            defer { run.cancel() }
            try await server.waitForSubscription(to: "private-encrypted-room")
            try server.publish(event: "announcement", data: #"{"text": "Six."}"#, to: "private-encrypted-room")
            await fulfillment(of: [arrived], timeout: 60)
        }
    }
}
