import Foundation
import TestTraits
import Testing
import WebSocketClient

private let echoURL = ProcessInfo.processInfo.environment["ECHO_URL"]

/// Tests with servers by others. `.ci/aspnet-hub` and `.ci/ws-echo` start one and pass the URL of its echo.
@Suite("Echo servers by others", .enabled(if: echoURL != nil, "ECHO_URL is not set."), .limited)
struct EchoServerTests {
    /// Without compression, and with it if the trait is on.
    private static let options: [WebSocketOptions] = {
        let plain = WebSocketOptions()
        #if Compression
            var compressing = plain
            compressing.compression = WebSocketCompression()
            return [plain, compressing]
        #else
            return [plain]
        #endif
    }()

    @Test(
        "messages of all sizes come back, with and without compression and context takeover",
        arguments: options,
        ["", "?deflate=false", "?noContextTakeover=true"]
    )
    func echo(_ options: WebSocketOptions, query: String) async throws {
        let url = try #require(echoURL) + query
        let socket = try await WebSocket.connect(to: url, subprotocols: ["first", "second"], options: options)
        #expect(socket.subprotocol == "second")
        var messages = socket.messages.makeAsyncIterator()
        for size in [0, 1, 125, 126, 65_535, 65_536, 1_000_000] {
            let text = String((0..<size).map { _ in "abcdefgh ".randomElement() ?? "a" })
            try await socket.send(text)
            #expect(try await messages.next() == .text(text))
            let bytes = (0..<size).map { _ in UInt8.random(in: 0...255) }
            try await socket.send(bytes)
            #expect(try await messages.next() == .binary(bytes))
        }
        try socket.close(code: .normalClosure, reason: "done")
        try await socket.closed()
        #expect(socket.closure?.code == .normalClosure && socket.closure?.reason == "done")
    }
}
