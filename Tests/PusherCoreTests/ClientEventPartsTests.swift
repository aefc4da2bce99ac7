import TestTraits
import Testing

@testable import PusherCore

@Suite("Client events in several parts", .limited)
struct ClientEventPartsTests {
    private let name = "private-a"

    private func subscribed(configure: (inout CoreConfiguration) -> Void = { _ in }) -> CoreClient {
        var client = CoreClient.connected(configure)
        client.subscribe(name)
        client.authorized(name)
        client.received(.success(name))
        return client
    }

    @Test("The client sends the parts of an event together and in order, or holds all of them back")
    func parts() {
        var client = subscribed { $0.clientEventsPerSecond = 2 }
        #expect(
            client.trigger("client-x", parts: 3, on: name).wire
                == ["send 1 client-x-1 on private-a", "send 1 client-x-2 on private-a"]
        )
        #expect(client.advance(by: .milliseconds(1_100)).wire == ["send 1 client-x-3 on private-a"])
    }

    private func reconnect(_ client: inout CoreClient) -> [String] {
        client.decide(.zero)
        client.advance(by: .zero)
        client.establish()
        client.authorized(name)
        return client.received(.success(name)).wire.words + client.advance(by: .seconds(10)).wire.words
    }

    @Test("If a part may have arrived before a loss, the client drops the later parts of its event", arguments: 1...3)
    func lostPart(number: Int) {
        var client = subscribed { $0.clientEventsPerSecond = 3 }
        client.trigger("client-x", parts: 4, on: name)
        client.trigger("client-y", parts: 2, on: name)
        client.closed()
        for part in 1..<number { client.written("client-x-\(part)") }
        #expect(client.notWritten("client-x-\(number)", .unanswered) == ["report unanswered"])
        for part in (number + 1)..<4 { client.notWritten("client-x-\(part)") }
        #expect(client.statistics.clientEvents.sent == number - 1)
        #expect(client.statistics.clientEvents.dropped == 5 - number && client.statistics.clientEvents.waiting == 2)
        #expect(reconnect(&client) == ["send 2 client-y-1 on private-a", "send 2 client-y-2 on private-a"])
    }

    @Test("After a loss, the client sends the unwritten parts of an event again, and then the waiting parts")
    func repeatedParts() {
        var client = subscribed { $0.clientEventsPerSecond = 2 }
        client.trigger("client-x", parts: 3, on: name)
        client.closed()
        client.notWritten("client-x-1")
        client.notWritten("client-x-2")
        #expect(reconnect(&client) == (1...3).map { "send 2 client-x-\($0) on private-a" })
        #expect(client.statistics.clientEvents.dropped == 0)
    }

    @Test("The client keeps the order of events whose results arrive in another order")
    func resultsOutOfOrder() {
        var client = subscribed { $0.clientEventsPerSecond = 5 }
        client.trigger("client-x", parts: 2, on: name)
        client.trigger("client-y", parts: 2, on: name)
        client.closed()
        client.notWritten("client-y-2")
        client.notWritten("client-x-2")
        #expect(client.notWritten("client-x-1", .unanswered) == ["report unanswered"])
        client.notWritten("client-y-1")
        #expect(client.statistics.clientEvents.dropped == 2 && client.statistics.clientEvents.waiting == 2)
        #expect(reconnect(&client) == ["send 2 client-y-1 on private-a", "send 2 client-y-2 on private-a"])
    }

    @Test("The client sends no part of an event if the queue has no space for all parts")
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

    @Test("The wait for an event ends when its last part is written, or when a part fails")
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

    @Test("Cancellation, a lost connection and unsubscribe() each end the wait for parts once", arguments: [0, 1, 2])
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
