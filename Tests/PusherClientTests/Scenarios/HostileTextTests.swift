import Foundation
import Logging
import NIOCore
import PusherTestServer
import RealtimeNetworking
import TestSupport
import TestTraits
import Testing
import WebSocketClient

@testable import PusherClient

/// Tests that no string from a server can end a line of a log, control a terminal, or change the direction of text.
@Suite("A server's strings in logs and errors", .limited, .overEachTransport)
struct HostileTextTests {
    /// Control characters, line breaks, and characters that change the direction of text.
    private static let controls =
        "\u{0}\u{1}\t\n\r\u{1B}[31m\u{7F}\u{80}\u{85}\u{9B}\u{61C}\u{200F}\u{2028}\u{2029}\u{202E}\u{2066}"
    /// The same characters, escaped for JSON.
    private static let escaped = controls.unicodeScalars.map { scalar in
        let digits = String(scalar.value, radix: 16)
        return scalar.value < 0x20 ? "\\u" + String(repeating: "0", count: 4 - digits.count) + digits : String(scalar)
    }.joined()

    private static func isHarmless(_ text: String) -> Bool {
        !text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
            default: false
            }
        }
    }

    /// A collection of all strings that a client shows.
    private final class Display: PusherDelegate {
        let lines = LogLines()
        let texts = Log<String>()

        func show(_ error: any Error) {
            texts.append("\(error)")
            texts.append(String(reflecting: error))
            texts.append(error.localizedDescription)
            if let error = error as? any ExplainedError { texts.append(error.message) }
        }

        func debugLog(message: String) { texts.append(message) }
        func receivedError(error: PusherError) {
            show(error.clientError)
            texts.append(error.message)
        }
        func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
            texts.append(error?.localizedDescription ?? "")
            texts.append(error?.localizedFailureReason ?? "")
        }

        /// Returns the number of shown strings that contain `text`, and records an issue for each harmful string.
        func search(for text: String) -> Int {
            let shown = lines.messages + texts.elements
            for text in shown where !HostileTextTests.isHarmless(text) {
                Issue.record("\(text.debugDescription) is shown")
            }
            return shown.count { $0.contains(text) }
        }
    }

    private let world = VirtualWorld()
    private let display = Display()

    private func makeClient(
        _ authMethod: AuthMethod = .endpoint(VirtualWorld.authEndpoint),
        _ userAuthMethod: UserAuthMethod = .noMethod
    ) -> Pusher {
        let pusher = world.makeClient(
            .virtual(authMethod: authMethod, userAuthMethod: userAuthMethod, logger: display.lines.logger(.trace))
        )
        pusher.delegate = display
        return pusher
    }

    private func connect(_ pusher: Pusher) async {
        pusher.connect()
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("protocol messages, errors and event names are harmless", .needsSodium)
    func messages() async throws {
        let pusher = makeClient()
        await connect(pusher)
        let channel = pusher.subscribe("private-encrypted-a")
        await world.runUntil { channel.subscribed }
        let text = "hostile" + Self.escaped
        for message in [
            #"{"event":"pusher:error","data":{"code":4009,"message":"\#(text)"}}"#,
            #"{"event":"pusher:error","channel":"\#(text)","data":"\#(text)"}"#,
            #"{"event":"pusher:subscription_error","channel":"\#(text)","data":{"error":"\#(text)","status":401}}"#,
            #"{"event":"pusher_internal:subscription_count","channel":"private-encrypted-a","data":"\#(text)"}"#,
            #"{"event":"pusher_internal:member_added","channel":"\#(text)","data":"\#(text)"}"#,
            #"{"event":"\#(text)","channel":"private-encrypted-a","data":"\#(text)"}"#,
            #"{"event":"\#(text)","channel":"\#(text)","data":"\#(text)","user_id":"\#(text)"}"#,
            "hostile" + Self.controls, #"{"hostile\#(Self.controls)":1}"#,
        ] {
            world.server.sendText(message)
            await world.run()
        }
        #expect(display.search(for: #"hostile\0\u{01}\t\n\r\u{1B}[31m\u{7F}\u{0080}"#) >= 9)
        #expect(display.search(for: #"\u{061C}\u{200F}\u{2028}\u{2029}\u{202E}\u{2066}"#) >= 9)
    }

    @Test("the reason of a refused subscription is harmless")
    func refusal() async throws {
        let pusher = makeClient()
        await connect(pusher)
        let text = "hostile" + Self.controls
        world.server.failSubscriptions(to: "a", with: .subscriptionError(message: text))
        world.server.failSubscriptions(to: "b", with: .error(code: nil, message: text))
        world.server.failAuthorizations(for: "private-a", with: .status(403, body: text))
        world.server.failAuthorizations(for: "private-b", with: .body(text))
        for name in ["a", "b", "private-a", "private-b", "c\u{1B}\n"] {
            let channel = pusher.subscribe(name)
            let error = await #expect(throws: SubscriptionError.self) {
                try await world.complete { try await channel.subscribed() }
            }
            if let error { display.show(error) }
        }
        #expect(display.search(for: #"hostile\0"#) >= 6)
    }

    @Test("the reason of a close, and a message that is not a greeting, are harmless")
    func connections() async throws {
        let pusher = makeClient()
        let statuses = pusher.statuses
        // A close frame can hold only 123 bytes, so the reason is short.
        let reason = "hostile" + Self.controls
        world.server.failConnections(1, with: .closed(code: 4200, reason: reason))
        world.server.failConnections(1, with: .error(code: 4200, message: reason))
        world.server.failConnections(1, with: .firstMessage(#"{"event":"hostile\#(Self.escaped)","data":1}"#))
        pusher.connect()
        for _ in 1...40 { await world.advance(by: .seconds(1)) }
        #expect(pusher.connection.connectionState == .connected)
        world.server.closeConnections(code: 4001, reason: reason)
        await world.run()
        pusher.disconnect()
        await world.run()
        #expect(display.search(for: #"hostile\0"#) >= 8)
        var iterator = statuses.makeAsyncIterator()
        while let status = await iterator.next() {
            #expect(Self.isHarmless("\(status)"))
            if let reason = status.reason { #expect(Self.isHarmless(reason.message)) }
            if case .refused = status { break }
        }
    }

    @Test("the signed-in user, and the reason of a failed sign-in, are harmless")
    func users() async throws {
        let user = #"{"id":"hostile\#(Self.escaped)"}"#
        let pusher = makeClient(.noMethod, .inline(secret: world.server.options.application.secret) { user })
        await connect(pusher)
        pusher.signIn()
        await world.runUntil { pusher.user.isSignedIn }
        #expect(pusher.user.userId?.contains("\u{1B}") == true)
        let name = "#server-to-user-" + (pusher.user.userId ?? "")
        world.server.sendError(code: nil, message: "hostile " + name)
        await world.run()
        #expect(display.search(for: #"hostile\0"#) >= 2)
    }

    @Test("errors that the app creates, and the status line of an upgrade, are harmless")
    func errors() throws {
        let text = "hostile" + Self.controls
        display.show(AuthorizationError(.refused, text))
        display.show(SubscriptionError(.refused, channelName: text, "no"))
        display.show(
            PusherClientError(.serverError, "no", channelName: text, cause: AuthorizationError(.refused, text))
        )
        display.show(TLSFailure(.other, text))
        let reader = UpgradeResponseReader(
            try UpgradeRequest(.init(host: "a.test", port: 80, useTLS: false, path: "/"))
        )
        var answer = ByteBuffer(string: "HTTP/1.1 403 hostile\u{1B}[31m\u{7}\r\nContent-Length: 0\r\n\r\n")
        let error = #expect(throws: WebSocketError.self) { _ = try reader.read(&answer) }
        if let error { display.show(error) }
        #expect(display.search(for: "hostile") >= 12)
    }
}
