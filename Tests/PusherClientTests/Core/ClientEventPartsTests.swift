import PusherClient
import Testing

@Suite("Client events in several parts")
struct ClientEventPartsTests {
    private let name = "private-a"

    private func subscribed(configure: (inout CoreConfiguration) -> Void = { _ in }) -> CoreClient {
        var client = CoreClient.connected(configure)
        client.subscribe(name)
        client.authorized(name)
        client.received(.success(name))
        return client
    }

    @Test("The parts of an event go out together and in order, or wait together")
    func parts() {
        var client = subscribed { $0.clientEventsPerSecond = 2 }
        #expect(
            client.trigger("client-x", parts: 3, on: name).wire
                == ["send 1 client-x-1 on private-a", "send 1 client-x-2 on private-a"]
        )
        #expect(client.advance(by: .milliseconds(1_100)).wire == ["send 1 client-x-3 on private-a"])
    }

    @Test("If there is no space for all parts, none is sent")
    func noRoomForParts() {
        var client = subscribed {
            $0.queuedClientEvents = 3
            $0.clientEventsPerSecond = 1
        }
        client.trigger("client-a", parts: 2, on: name)
        #expect(client.trigger("client-b", parts: 3, on: name) == ["report clientEventQueueFull of private-a"])
        #expect(client.send("client-c", parts: 3, on: name) == ["resume 1 failed clientEventQueueFull"])
        #expect(client.trigger("client-d", parts: 2, on: name) == [])
    }

    @Test("An awaited event ends when its last part is written, or when one fails")
    func awaitedParts() {
        var client = subscribed()
        client.send("client-x", parts: 2, on: name)
        #expect(client.written(1) == [])
        #expect(client.written(1) == ["resume 1 done"])
        client.send("client-y", parts: 3, on: name)
        #expect(
            client.written(2, error: PusherClientError(.notSubscribed, "gone")) == ["resume 2 failed notSubscribed"]
        )
        #expect(client.written(2) == [])
        #expect(client.send("client-z", parts: 0, on: name) == ["resume 3 done"])
    }

    @Test("Cancelling, losing the connection and unsubscribing end the wait for parts once", arguments: [0, 1, 2])
    func awaitedPartsEnd(how: Int) {
        var client = subscribed { $0.clientEventsPerSecond = 1 }
        client.send("client-x", parts: 3, on: name)
        let told =
            switch how {
            case 0: client.cancelWait(1)
            case 1: client.closed()
            default: client.unsubscribe(name)
            }
        #expect(told.words.filter { $0.hasPrefix("resume") }.count == 1)
        #expect(client.written(1) == [])
        #expect(client.machine.clientEvents.isEmpty)
    }
}
