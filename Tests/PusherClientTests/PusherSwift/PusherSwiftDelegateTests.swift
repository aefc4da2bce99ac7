import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// PusherSwift's tests of the connection's delegate.
@Suite("PusherSwift: the delegate", .limited)
struct PusherSwiftDelegateTests {
    private final class Observer: PusherDelegate {
        let changes = Log<String>()
        let lines = Log<String>()
        /// Changes and errors.
        let calls = Log<String>()

        func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
            changes.append("\(old.stringValue()) → \(new.stringValue())")
            calls.append(new.stringValue())
        }
        func receivedError(error: PusherError) { calls.append("error \(error.code ?? 0)") }
        func debugLog(message: String) { lines.append(message) }
    }

    private static let connecting = ["disconnected → connecting", "connecting → connected"]

    let world = VirtualWorld()

    /// Returns a client that has been connected for a minute, and an observer of its delegate calls.
    private func connected(_ options: PusherClientOptions = .virtual()) async -> (Pusher, Observer) {
        let observer = Observer()
        let pusher = world.makeClient(options)
        pusher.delegate = observer
        pusher.connect()
        await world.advance(by: .seconds(60))
        #expect(observer.changes.elements == Self.connecting)
        return (pusher, observer)
    }

    @Test("connect() causes two changes of state, and disconnect() causes two further changes")
    func changes() async throws {
        let (pusher, observer) = await connected()
        pusher.disconnect()
        await world.advance(by: .seconds(3_600))
        #expect(
            observer.changes.elements == Self.connecting + [
                "connected → disconnecting", "disconnecting → disconnected",
            ]
        )
    }

    @Test("the client stays disconnected after a close with 4009, and reports the close first")
    func refused() async throws {
        let (_, observer) = await connected()
        world.server.closeConnections(code: 4009)
        await world.advance(by: .seconds(3_600))
        #expect(observer.changes.elements == Self.connecting + ["connected → disconnected"])
        #expect(observer.calls.elements == ["connecting", "connected", "error 4009", "disconnected"])
    }

    @Test("the client reconnects at once after a close with 4200, unless autoReconnect is false")
    func closedToReconnect() async throws {
        let (_, observer) = await connected()
        world.server.closeConnections(code: 4200)
        await world.run()
        #expect(
            observer.changes.elements == Self.connecting + [
                "connected → disconnected", "disconnected → reconnecting", "reconnecting → connecting",
                "connecting → connected",
            ]
        )
        let (_, other) = await connected(.virtual(autoReconnect: false))
        world.server.closeConnections(code: 4200)
        await world.advance(by: .seconds(3_600))
        #expect(other.changes.elements == Self.connecting + ["connected → disconnected"])
    }

    @Test("debugLog gets the client's actions, and only the log gets the server's messages")
    func debugLog() async throws {
        let lines = LogLines()
        let (_, observer) = await connected(.virtual(logger: lines.logger(.trace)))
        let message = #"{"event":"test-event","data":"blah"}"#
        world.server.sendText(message)
        await world.run()
        #expect(observer.lines.elements.allSatisfy { $0.hasPrefix("[PUSHER DEBUG] ") })
        #expect(observer.lines.elements.contains { $0.hasSuffix("from connecting to connected") })
        #expect(!observer.lines.elements.contains { $0.contains("blah") })
        #expect(lines.messages.contains { $0.contains(message) })
    }

    @Test("the delegate gets successful and failed subscriptions with the channel's name")
    func subscriptions() async throws {
        let delegate = RecordingDelegate()
        let pusher = world.makeClient(.virtual(authMethod: .inline(secret: world.server.options.application.secret)))
        pusher.delegate = delegate
        pusher.connect()
        pusher.subscribe("private-channel")
        await world.runUntil { delegate.subscriptions.count == 1 }
        #expect(delegate.subscriptions.elements == ["private-channel"])
        pusher.connection.options.authMethod = .noMethod
        pusher.subscribe("private-other")
        await world.runUntil { delegate.failures.count == 1 }
        #expect(delegate.failures.elements == ["private-other"])
        #expect(delegate.subscriptions.count == 1)
    }

    @Test("the delegate gets a pusher:error with its message and its code")
    func error() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        world.server.sendText(
            #"{"event":"pusher:error","data":{"message":"Application is over its quota","code":4004}}"#
        )
        await world.run()
        #expect(delegate.errors.elements.map(\.message) == ["Application is over its quota"])
        #expect(delegate.errors.elements.map(\.code) == [4004])
    }
}
