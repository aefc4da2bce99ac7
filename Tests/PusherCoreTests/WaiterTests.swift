import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Tests of calls that wait. The ledger checks that no call is resumed twice.
@Suite("Waiting calls", .limited)
struct WaiterTests {
    @Test("connected() connects, and returns the socket id")
    func connected() {
        var client = CoreClient()
        #expect(client.awaitConnection().wire == ["open 1"])
        #expect(client.awaitConnection() == [])
        #expect(client.establish().outcomes == ["resume 1 connected 1.1", "resume 2 connected 1.1"])
        #expect(client.awaitConnection() == ["resume 3 connected 1.1"])
    }

    @Test("connected() waits across losses, and fails if there will be no connection", arguments: [true, false])
    func connectedOverLosses(succeeds: Bool) {
        var client = CoreClient()
        client.awaitConnection()
        #expect(client.closed().outcomes == [])
        #expect(client.decide(.seconds(1)).outcomes == [])
        #expect(client.advance(by: .seconds(1)).outcomes == [])
        let end = succeeds ? client.establish() : client.closed(code: 4001)
        #expect(end.outcomes == [succeeds ? "resume 1 connected 2.1" : "resume 1 failed connectionRefused"])
    }

    @Test("connected() fails if the policy stops the client, or autoReconnect is false")
    func connectedGivenUp() {
        var client = CoreClient()
        client.awaitConnection()
        client.closed()
        #expect(client.decide(nil).outcomes == ["resume 1 failed retriesExhausted"])
        var other = CoreClient { $0.autoReconnect = false }
        other.awaitConnection()
        #expect(other.closed().outcomes == ["resume 1 failed connectionClosed"])
    }

    @Test("connected() fails if the options are invalid")
    func connectedInvalid() {
        var client = CoreClient { $0.endpoint = .failure(PusherClientError(.invalidKey, "no key")) }
        let transcript = client.awaitConnection()
        #expect(transcript.told == ["report invalidKey"])
        #expect(transcript.changes == ["status refused invalidKey"])
        #expect(transcript.outcomes == ["resume 1 failed invalidKey"])
        #expect(client.awaitConnection() == ["report invalidKey", "resume 2 failed invalidKey"])
    }

    enum Moment: CaseIterable { case connecting, asking, waiting, disconnecting }

    @Test("disconnect() makes a waiting connected() fail in every state", arguments: Moment.allCases)
    func disconnectEndsConnected(moment: Moment) {
        var client = CoreClient()
        switch moment {
        case .connecting:
            client.awaitConnection()
        case .asking:
            client.awaitConnection()
            client.closed()
        case .waiting:
            client.awaitConnection()
            client.closed()
            client.decide(.seconds(9))
        case .disconnecting:
            // A `connect()` during the closing handshake starts a new connection.
            client = .connected()
            client.disconnect()
            client.awaitConnection()
        }
        #expect(client.disconnect().outcomes == ["resume 1 failed disconnected"])
    }

    @Test("disconnected() returns when the server or the timeout closes the socket")
    func disconnected() {
        var client = CoreClient()
        #expect(client.awaitDisconnection().outcomes == ["resume 1 done"])
        client = .connected()
        #expect(client.awaitDisconnection().wire == ["close 1 1000"])
        #expect(client.awaitDisconnection() == [])
        #expect(client.closed(code: 1000).outcomes == ["resume 1 done", "resume 2 done"])
        client.connect()
        client.establish()
        client.awaitDisconnection()
        let end = client.advance(by: .seconds(2))
        #expect(end.wire == ["abort 2"])
        #expect(end.outcomes == ["resume 3 done"])
    }

    @Test("disconnected() returns after connect(), because the old connection is closed")
    func connectEndsDisconnected() {
        var client = CoreClient.connected()
        client.awaitDisconnection()
        let transcript = client.connect()
        #expect(transcript.wire == ["abort 1", "open 2"])
        #expect(transcript.outcomes == ["resume 1 done"])
    }

    @Test(
        "If the wait for a retry ended during a suspension, the next call starts the attempt at once",
        arguments: [true, false]
    )
    func overslept(awaitsConnection: Bool) {
        var client = CoreClient.connected()
        client.subscribe("a")
        client.closed()
        client.decide(.seconds(60))
        client.suspend(for: .seconds(3_600))
        let transcript = awaitsConnection ? client.awaitConnection() : client.awaitSubscription("a")
        #expect(transcript.wire == ["open 2"])
    }

    @Test("subscribed() returns if the subscription succeeds, and throws if it fails")
    func subscribed() {
        var client = CoreClient.connected()
        for name in ["a", "b", "c", "d"] {
            client.subscribe(name)
            #expect(client.awaitSubscription(name) == [])
        }
        #expect(client.received(.success("a")).outcomes == ["resume 1 done"])
        #expect(client.received(.refusal("b")).outcomes == ["resume 2 failed subscriptionRefused"])
        #expect(client.unsubscribe("c").outcomes == ["resume 3 failed unsubscribed"])
        // The client tries again after a missing answer, so the wait ends only if the policy stops the client.
        #expect(client.advance(by: .seconds(10)).outcomes == [])
        #expect(client.decide(nil).outcomes == ["resume 4 failed subscriptionTimedOut"])
        #expect(client.awaitSubscription("a") == ["resume 5 done"])
        #expect(client.awaitSubscription("b") == ["resume 6 failed subscriptionRefused"])
        #expect(client.awaitSubscription("c") == ["resume 7 failed unsubscribed"])
        client.subscribe("no good")
        #expect(client.awaitSubscription("no good") == ["resume 8 failed invalidChannelName"])
    }

    @Test("subscribed() waits for the connection, and across losses")
    func subscribedOverLosses() {
        var client = CoreClient()
        client.subscribe("a")
        #expect(client.awaitSubscription("a") == [])
        client.connect()
        client.establish()
        #expect(client.closed().outcomes == [])
        client.connect()
        #expect(client.establish().outcomes == [])
        #expect(client.received(.success("a")).outcomes == ["resume 1 done"])
    }

    @Test("subscribed() fails with the reason if there will be no connection")
    func subscribedWithoutHope() {
        var client = CoreClient { $0.endpoint = .failure(PusherClientError(.invalidHost, "no host")) }
        client.subscribe("a")
        client.awaitSubscription("a")
        #expect(client.connect().outcomes == ["resume 1 failed invalidHost"])
        #expect(client.awaitSubscription("a") == ["resume 2 failed invalidHost"])

        client = .connected()
        client.subscribe("a")
        client.awaitSubscription("a")
        #expect(client.closed(code: 4001).outcomes == ["resume 1 failed connectionRefused"])

        client = .connected()
        client.subscribe("a")
        client.awaitSubscription("a")
        client.closed()
        #expect(client.decide(nil).outcomes == ["resume 1 failed retriesExhausted"])
    }

    @Test("Cancelling a call ends only this call, and only once")
    func cancelled() {
        var client = CoreClient()
        client.awaitConnection()
        client.subscribe("a")
        client.awaitSubscription("a")
        #expect(client.cancelWait(1) == ["resume 1 cancelled"])
        #expect(client.cancelWait(1) == [])
        #expect(client.cancelWait(2) == ["resume 2 cancelled"])
        #expect(client.establish().outcomes == [])
        #expect(client.received(.success("a")).outcomes == [])
        client.awaitDisconnection()
        #expect(client.cancelWait(3) == ["resume 3 cancelled"])
        #expect(client.closed(code: 1000).outcomes == [])
    }

    @Test("When the client is released, its calls fail, its channels are retired, and its socket is closed")
    func release() {
        var client = CoreClient()
        client.awaitConnection()
        client.subscribe("a")
        client.awaitSubscription("a")
        let transcript = client.release()
        #expect(transcript.wire == ["abort 1"])
        #expect(transcript.told == ["retired a", "released"])
        #expect(transcript.outcomes == ["resume 1 failed disconnected", "resume 2 failed disconnected"])
        #expect(client.connect() == [])
        #expect(client.release() == [])
        #expect(client.awaitConnection() == ["resume 3 failed disconnected"])
        #expect(client.awaitDisconnection() == ["resume 4 done"])
    }

    @Test("Releasing a connected client closes the socket with the closing handshake")
    func releaseConnected() {
        var client = CoreClient.connected()
        client.awaitDisconnection()
        let transcript = client.release()
        #expect(transcript.outcomes == ["resume 1 done"])
        #expect(client.advance(by: .seconds(2)).wire == ["abort 1"])
    }
}
