import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

@Suite("Watching the server", .limited)
struct LivenessMachineTests {
    @Test("The client pings after the activity timeout, and drops the connection after the pong timeout")
    func timings() {
        var client = CoreClient.connected()
        #expect(client.advance(by: .milliseconds(119_999)) == [])
        #expect(client.advance(by: .milliseconds(1)) == ["set pong 30s", "send 1 ping"])
        #expect(client.advance(by: .milliseconds(29_999)) == [])
        #expect(client.advance(by: .milliseconds(1)).wire == ["abort 1"])
        #expect(client.state == .reconnecting)
    }

    enum Frame: CaseIterable {
        case message, pong, malformed, control

        func receive(_ client: inout CoreClient) -> Transcript {
            switch self {
            case .message: client.received(.message(nil))
            case .pong: client.received(Envelope(event: EventName.pong))
            case .malformed: client.malformed()
            case .control: client.frameReceived()
            }
        }
    }

    @Test("Any frame counts as activity, before a ping and after it", arguments: Frame.allCases)
    func anyFrame(frame: Frame) {
        var client = CoreClient.connected()
        client.advance(by: .seconds(100))
        #expect(frame.receive(&client).timers == [])
        // The client does not reschedule the running timer. When the timer fires, the client sets it for the
        // remaining time.
        #expect(client.advance(by: .seconds(20)) == ["set activity 100s"])
        #expect(client.advance(by: .seconds(100)).wire == ["send 1 ping"])
        client.advance(by: .seconds(29))
        #expect(frame.receive(&client).timers == ["stop pong", "set activity 120s"])
        #expect(client.advance(by: .milliseconds(119_999)) == [])
        #expect(client.advance(by: .milliseconds(1)).wire == ["send 1 ping"])
    }

    @Test("A thousand frames do not set a timer")
    func noTimerPerFrame() {
        var client = CoreClient.connected()
        for _ in 0..<1_000 {
            client.advance(by: .milliseconds(1))
            #expect(client.frameReceived() == [])
        }
    }

    @Test(
        "The client uses the shorter of the option's and the server's timeout, and ignores an invalid timeout",
        arguments: [
            ("120", 120, "120s"), ("30", 120, "30s"), ("300", 120, "120s"), ("30", 10, "10s"), ("120", 600, "120s"),
            ("0.5", 120, "1s"), ("1.5", 120, "1.5s"), ("30.0", 120, "30s"), ("3e1", 120, "30s"),
            ("0", 120, "120s"), ("-5", 120, "120s"), ("null", 120, "120s"), (#"\"30\""#, 120, "120s"),
            ("1e308", 120, "120s"), ("99999999999999999999", 120, "120s"), ("true", 120, "120s"),
            ("[]", 120, "120s"), (nil, 120, "120s"), (nil, 45, "45s"),
        ] as [(String?, Int, String)]
    )
    func activityTimeout(server: String?, option: Int, expected: String) {
        var client = CoreClient { $0.activityTimeout = .seconds(option) }
        client.connect()
        client.opened()
        // The strings in the table have escaped quotation marks. The test removes the escapes.
        let transcript = client.greeted(activityTimeout: server.map { $0.replacing(#"\""#, with: "\"") })
        #expect(transcript.timers.last == "set activity \(expected)")
    }

    @Test("The client answers pusher:ping, which counts as activity and ends the wait for a pong")
    func serverPing() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        #expect(client.received(.ping) == ["stop pong", "set activity 120s", "send 1 pong"])
    }

    @Test("The client notices a silence during a suspension at the next call")
    func suspended() {
        var client = CoreClient.connected()
        client.suspend(for: .seconds(119))
        #expect(client.subscribe("a").wire == ["send 1 subscribe a"])
        client.suspend(for: .seconds(1))
        #expect(client.subscribe("b") == ["stop activity", "set pong 30s", "send 1 ping", "send 1 subscribe b"])
        #expect(client.subscribe("c").wire == ["send 1 subscribe c"])
        #expect(client.advance(by: .seconds(30)).wire == ["abort 1"])
    }

    @Test("A call to connect() after a suspension checks the connection")
    func connectAfterSuspension() {
        var client = CoreClient.connected()
        client.suspend(for: .seconds(3_600))
        #expect(client.connect() == ["stop activity", "set pong 30s", "send 1 ping"])
        #expect(client.connect() == [])
    }

    @Test(
        "A frame after a long suspension may come from a buffer, so the client pings",
        arguments: [Frame.message, .malformed, .control]
    )
    func frameAfterSuspension(frame: Frame) {
        var client = CoreClient.connected()
        client.suspend(for: .seconds(3_600))
        let transcript = frame.receive(&client)
        #expect(transcript.timers == ["stop activity", "set pong 30s"])
        #expect(transcript.wire == ["send 1 ping"])
        #expect(client.advance(by: .seconds(30)).wire == ["abort 1"])
    }

    @Test("A frame that comes after a suspension during the wait for a pong does not end the wait")
    func suspendedWhileWaiting() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        client.suspend(for: .seconds(3_600))
        #expect(client.frameReceived() == ["stop pong", "set pong 30s", "send 1 ping"])
        // This pong is the answer to the ping from before the suspension.
        #expect(client.received(.pong) == [])
        #expect(client.advance(by: .seconds(30)).wire == ["abort 1"])
    }

    @Test("After a suspension, only the pong of the last ping ends the wait")
    func pongAfterSuspension() {
        var client = CoreClient.connected()
        client.suspend(for: .seconds(3_600))
        client.connect()
        #expect(client.received(.message(nil)).timers == [])
        #expect(client.received(.ping).timers == [])
        #expect(client.frameReceived() == [])
        #expect(client.received(.pong) == ["stop pong", "set activity 120s"])
    }

    @Test("A pong after another suspension may come from a buffer too, so the client pings again")
    func suspendedTwice() {
        var client = CoreClient.connected()
        client.suspend(for: .seconds(3_600))
        client.connect()
        client.suspend(for: .seconds(3_600))
        #expect(client.received(.pong) == ["stop pong", "set pong 30s", "send 1 ping"])
        #expect(client.received(.pong) == ["stop pong", "set activity 120s"])
    }

    @Test("Old timers have no effect, on the same connection or on the next one")
    func staleTimers() throws {
        var client = CoreClient.connected()
        let activity = try #require(client.timer(.activity))
        client.advance(by: .seconds(120))
        let pong = try #require(client.timer(.pong))
        client.frameReceived()
        #expect(client.fire(activity) == [])
        #expect(client.fire(pong) == [])
        client.closed(code: 4200)
        client.establish()
        #expect(client.fire(activity) == [])
        #expect(client.fire(pong) == [])
        #expect(client.state == .connected)
    }
}
