import TestTraits
import Testing

@Suite("pusher demo", .serialized, .limited)
struct DemoTests {
    @Test("the demo succeeds over WebSockets and in a network that blocks WebSockets", arguments: [false, true])
    func demo(blocksWebSockets: Bool) async throws {
        let result = try await ToolRun.result(
            ["demo", "--events", "2"] + (blocksWebSockets ? ["--block-websockets"] : [])
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.lines.last?.contains("done: everything arrived") == true, "\(result.lines)")
        let transports = result.lines.filter { $0.contains("is connected by HTTP streaming; not by WebSocket: ") }
        // Both users use HTTP, and one user reconnects after the loss.
        #expect(transports.count == (blocksWebSockets ? 3 : 0), "\(result.lines)")
    }
}
