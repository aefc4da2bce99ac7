import PusherTestServer

/// Plays a recording back, as the article about the test server does.
func replay(on server: PusherTestServer) async throws {
    let recording = try PusherTestServer.Recording(contentsOfFile: "yesterday.jsonl")
    try await server.waitForSubscription(to: "orders")
    try await server.replay(recording)  // or with the recorded waits: replay(recording, speed: 1)
}
