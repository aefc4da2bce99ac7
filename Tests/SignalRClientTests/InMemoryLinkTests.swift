import NIOPosix
import SignalRClient
import TestTraits
import Testing

@testable import SignalRTestServer

@Suite(.limited) struct InMemoryLinkTests {
    @Test func theCallStackDoesNotGrowWithTheNumberOfMessages() async throws {
        try await withServer(inMemory: true) { server in
            let addresses = Inbox<Int>()
            let opened = try await InMemoryOpener(server)
                .open(wantsResumption: false, on: MultiThreadedEventLoopGroup.singleton.next()) { _ in
                    var marker: UInt8 = 0
                    addresses.add(withUnsafeMutablePointer(to: &marker) { Int(bitPattern: $0) })
                }
            for _ in 0..<1000 { server.sendBytes([0]) }
            let used = await addresses.next(1000)
            // Each wrapper of the receiver would need at least 16 bytes.
            let growth = try #require(used.max()) - #require(used.min())
            #expect(growth < 8_000)
            opened.transport.abort()
        }
    }
}
