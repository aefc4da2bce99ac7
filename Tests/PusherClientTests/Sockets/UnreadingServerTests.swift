import ClientTestSupport
import NIOCore
import RealtimeNetworking
import SocketTestSupport
import TestTraits
import Testing
import WebSocketClient

@testable import PusherClient

@Suite("A server that sends but does not read", .limited)
struct UnreadingServerTests {
    @Test("the client drops the connection at the limit of unsent messages, and waits before it reconnects")
    func unread() async throws {
        let greeting = #"{"event":"pusher:connection_established","data":{"socket_id":"1.1"}}"#
        // After each success, the client sends an unsubscribe with the name, so a long name soon fills the client's
        // buffers.
        let name = String(repeating: "x", count: 60_000)
        let unwanted = #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(name)","data":{}}"#
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(followedBy: serverFrame(1, greeting))
            try await peer.setReading(false)
            // The loop ends with an error when the client has closed the connection.
            while true { try await peer.write(serverFrame(1, unwanted)) }
        } _: { port in
            let options = PusherClientOptions(
                host: .host("127.0.0.1"),
                port: port,
                useTLS: false,
                timeouts: .patient,
                retryPolicy: .delays([.seconds(3_600)]),
                limits: .init(sendBufferSize: 100_000),
                logger: .quiet
            )
            #expect(WebSocketTransport(options, dialer: Dialer()).options.sendBufferSize == 100_000)
            let pusher = Pusher(key: "key", options: options)
            let statuses = pusher.statuses
            pusher.connect()
            let reason = await statuses.first { status in
                if case .waiting = status { true } else { false }
            }
            guard case .waiting(_, _, let error)? = reason else {
                Issue.record("the client did not drop the connection")
                return
            }
            #expect(error.code == .sendBufferFull)
            await pusher.disconnected()
        }
    }
}
