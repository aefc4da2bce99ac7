import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

@Suite("Client events", .limited)
struct ClientEventTests {
    private let name = "private-a"

    private func subscribed(_ names: String..., configure: (inout CoreConfiguration) -> Void = { _ in }) -> CoreClient {
        var client = CoreClient.connected(configure)
        for name in names { subscribe(name, &client) }
        return client
    }

    private func subscribe(_ name: String, _ client: inout CoreClient) {
        client.subscribe(name)
        client.authorized(name)
        client.received(.anySuccess(name))
    }

    private func reconnect(_ client: inout CoreClient) {
        client.closed()
        client.connect()
        client.establish()
    }

    // MARK: trigger

    @Test("The client sends an event on a subscribed channel at once, unchanged")
    func sent() {
        var client = subscribed("private-a", "presence-a")
        #expect(client.trigger("client-x", on: "private-a") == ["send 1 client-x on private-a"])
        let transcript = client.trigger("client-y", on: "presence-a")
        #expect(transcript == ["send 1 client-y on presence-a"])
        #expect(transcript.sent == [Envelope(event: "client-y", channel: "presence-a", data: .json("1"))])
    }

    @Test("An event on a channel with an invalid name fails at once")
    func invalidChannel() {
        var client = CoreClient.connected()
        client.subscribe("private-a:b")
        let transcript = client.trigger("client-x", on: "private-a:b")
        #expect(transcript == ["report notSubscribed of private-a:b"])
        let message = transcript.reports.first?.message
        #expect(message?.contains("not sent") == true && message?.contains("name") == true, "\(message ?? "")")
        client.send("client-x", on: "private-a:b")
        #expect(client.machine.statistics(now: client.now).clientEvents.rejected == 2)
        #expect(client.machine.statistics(now: client.now).clientEvents.accepted == 0)
    }

    @Test("Events wait for their channel's subscription, and the client sends them in the order of the calls")
    func queued() {
        var client = CoreClient()
        client.subscribe("private-a")
        client.subscribe("private-b")
        for event in ["client-1", "client-2"] { #expect(client.trigger(event, on: "private-a") == []) }
        #expect(client.trigger("client-3", on: "private-b") == [])
        client.connect()
        client.establish()
        #expect(client.trigger("client-4", on: "private-a") == [])
        client.authorized("private-b")
        client.authorized("private-a")
        #expect(client.received(.success("private-b")).wire == ["send 1 client-3 on private-b"])
        #expect(
            client.received(.success("private-a")).wire == [
                "send 1 client-1 on private-a", "send 1 client-2 on private-a", "send 1 client-4 on private-a",
            ]
        )
    }

    @Test("A waiting event survives a refused subscription and a lost connection, and is sent once")
    func outlivesLoss() {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        client.received(.refusal(name))
        #expect(client.trigger("client-x", on: name) == [])
        reconnect(&client)
        client.authorized(name)
        #expect(client.received(.success(name)).wire == ["send 2 client-x on private-a"])
        reconnect(&client)
        client.authorized(name)
        #expect(client.received(.success(name)).wire == [])
    }

    @Test("unsubscribe() drops and reports waiting events, and a new channel with the same name does not send them")
    func unsubscribed() {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.trigger("client-x", on: name)
        #expect(client.unsubscribe(name).told == ["report unsubscribed of private-a", "retired private-a"])
        #expect(client.trigger("client-y", on: name) == ["report unsubscribed of private-a"])
        subscribe(name, &client)
        #expect(client.trigger("client-z", on: name).wire == ["send 1 client-z on private-a"])
    }

    @Test("A retired channel object sends no event on a new channel with the same name")
    func oldObject() throws {
        var client = subscribed(name)
        let old = try #require(client.machine.subscriptions[name]?.id)
        client.unsubscribe(name)
        subscribe(name, &client)
        #expect(client.trigger("client-x", on: name, old) == ["report unsubscribed of private-a"])
    }

    @Test("Each channel has a separate limit of waiting events")
    func bound() {
        var client = CoreClient { $0.queuedClientEvents = 2 }
        client.subscribe("private-a")
        client.subscribe("private-b")
        for _ in 1...2 { #expect(client.trigger("client-x", on: "private-a") == []) }
        #expect(client.trigger("client-y", on: "private-a") == ["report clientEventQueueFull of private-a"])
        #expect(client.trigger("client-x", on: "private-b") == [])
    }

    // MARK: The limit

    @Test("The client sends events at once up to the limit for a second, and later events when its timer fires")
    func paced() {
        var client = subscribed("private-a", "private-b") { $0.clientEventsPerSecond = 3 }
        for number in 1...3 { #expect(client.trigger("client-\(number)", on: "private-a").wire.words.count == 1) }
        client.advance(by: .milliseconds(400))
        #expect(client.trigger("client-4", on: "private-a") == ["set clientEvents 0.7s"])
        for number in 5...8 {
            #expect(client.trigger("client-\(number)", on: number == 6 ? "private-b" : "private-a") == [])
        }
        #expect(client.advance(by: .milliseconds(699)).wire == [])
        let second = client.advance(by: .milliseconds(1))
        // The channels take turns.
        #expect(
            second.wire == [
                "send 1 client-4 on private-a", "send 1 client-6 on private-b", "send 1 client-5 on private-a",
            ]
        )
        #expect(second.timers == ["set clientEvents 1.1s"])
        #expect(
            client.advance(by: .milliseconds(1_100)) == [
                "send 1 client-7 on private-a", "send 1 client-8 on private-a",
            ]
        )
        #expect(client.advance(by: .seconds(60)).timers.words.contains { $0.contains("clientEvents") } == false)
    }

    @Test("The default limit is ten events in a second")
    func defaultLimit() {
        var client = subscribed(name)
        for number in 1...10 { #expect(client.trigger("client-\(number)", on: name).wire != []) }
        #expect(client.trigger("client-11", on: name) == ["set clientEvents 1.1s"])
    }

    @Test("No event waits if there is no limit")
    func unlimited() {
        var client = subscribed(name) { $0.clientEventsPerSecond = nil }
        for number in 1...200 { #expect(client.trigger("client-\(number)", on: name).wire != []) }
        #expect(client.timer(.clientEvents) == nil)
    }

    @Test("Waiting events of a channel that is not subscribed do not delay other channels")
    func notHeldUp() {
        var client = subscribed("private-a") { $0.clientEventsPerSecond = 1 }
        client.subscribe("private-b")
        client.trigger("client-1", on: "private-b")
        #expect(client.trigger("client-2", on: "private-a").wire == ["send 1 client-2 on private-a"])
    }

    @Test("Channels take turns, so a channel with many events does not delay the others")
    func turns() {
        var client = subscribed("private-a", "private-b", "private-c") { $0.clientEventsPerSecond = 3 }
        for number in 1...9 { client.trigger("client-\(number)", on: "private-a") }
        client.trigger("client-b1", on: "private-b")
        client.trigger("client-c1", on: "private-c")
        client.trigger("client-c2", on: "private-c")
        #expect(
            client.advance(by: .milliseconds(1_100)).wire == [
                "send 1 client-4 on private-a", "send 1 client-b1 on private-b", "send 1 client-c1 on private-c",
            ]
        )
        // The next round begins with the channel after the last channel of this round.
        #expect(
            client.advance(by: .milliseconds(1_100)).wire == [
                "send 1 client-5 on private-a", "send 1 client-c2 on private-c", "send 1 client-6 on private-a",
            ]
        )
        #expect(
            client.advance(by: .milliseconds(1_100)).wire == [
                "send 1 client-7 on private-a", "send 1 client-8 on private-a", "send 1 client-9 on private-a",
            ]
        )
        #expect(client.machine.clientEvents.isEmpty)
    }

    // MARK: sendLatest

    @Test("sendLatest() replaces a waiting event of the same name, and keeps the event's position in the queue")
    func latest() throws {
        var client = subscribed(name) { $0.clientEventsPerSecond = 1 }
        #expect(client.sendLatest("client-typing", on: name).wire == ["send 1 client-typing on private-a"])
        for number in 1...40 { #expect(client.sendLatest("client-typing", data: "\(number)", on: name).wire == []) }
        client.sendLatest("client-moved", on: name)
        client.trigger("client-message", on: name)
        client.sendLatest("client-typing", data: "41", on: name)
        #expect(client.machine.clientEvents.count == 3)
        var sent: [String] = []
        for _ in 1...3 {
            sent += client.advance(by: .milliseconds(1_100)).sent.map { "\($0.event) \($0.data.text ?? "")" }
        }
        #expect(sent == ["client-typing 410", "client-moved 10", "client-message 1"])
        let counts = client.machine.statistics(now: client.now).clientEvents
        #expect(counts.accepted == 44)
        #expect(counts.dropped == 40)
        #expect(counts.waiting == 0)
    }

    @Test("The newest event replaces all parts of the waiting event")
    func latestParts() {
        var client = subscribed(name) { $0.clientEventsPerSecond = 1 }
        client.trigger("client-1", on: name)
        client.sendLatest("client-typing", parts: 3, on: name)
        client.sendLatest("client-typing", parts: 2, on: name)
        #expect(client.machine.clientEvents.count == 2)
    }

    @Test("A channel keeps its turn if sendLatest() replaces its only waiting event")
    func latestKeepsTurn() {
        let other = "private-b"
        var client = subscribed(name, other) { $0.clientEventsPerSecond = 1 }
        client.trigger("client-1", on: other)
        client.sendLatest("client-typing", data: "1", on: name)
        client.trigger("client-2", on: other)
        client.sendLatest("client-typing", data: "2", on: name)
        let sent = client.advance(by: .milliseconds(1_100)).sent
        #expect(sent == [Envelope(event: "client-typing", channel: name, data: .json("20"))])
        #expect(client.advance(by: .milliseconds(1_100)).wire == ["send 1 client-2 on private-b"])
        #expect(client.machine.clientEvents.isEmpty)
    }

    @Test("The client drops the old and the new event if the new one needs more space than the old")
    func latestAtLimit() {
        var client = subscribed(name) {
            $0.clientEventsPerSecond = 1
            $0.queuedClientEvents = 2
        }
        client.trigger("client-1", on: name)
        client.trigger("client-2", on: name)
        client.sendLatest("client-typing", data: "1", on: name)
        #expect(client.sendLatest("client-typing", data: "2", on: name).reports == [])
        #expect(client.machine.clientEvents.count == 2)
        client.sendLatest("client-typing", parts: 2, on: name)
        #expect(client.machine.clientEvents.count == 1)
        #expect(client.advance(by: .milliseconds(1_100)).wire == ["send 1 client-2 on private-a"])
        #expect(client.machine.clientEvents.isEmpty)
        #expect(client.machine.statistics(now: client.now).clientEvents.dropped == 4)
    }

    @Test("sendLatest() reports an event on an invalid or unsubscribed channel")
    func latestIsRefused() {
        var client = CoreClient.connected()
        client.subscribe("private-a:b")
        let transcript = client.sendLatest("client-typing", on: "private-a:b")
        #expect(transcript == ["report notSubscribed of private-a:b"])
        #expect(transcript.reports.first?.eventName == "client-typing")
        client.subscribe(name)
        let id = client.id(ofChannel: name)
        client.unsubscribe(name)
        #expect(client.sendLatest("client-typing", on: name, id) == ["report unsubscribed of private-a"])
        #expect(client.machine.statistics(now: client.now).clientEvents.rejected == 2)
        #expect(client.machine.statistics(now: client.now).clientEvents.accepted == 0)
    }

    @Test("sendLatest() does not replace the rest of an event whose first part was sent")
    func latestStartedParts() {
        var client = subscribed(name) { $0.clientEventsPerSecond = 1 }
        client.sendLatest("client-typing", parts: 3, on: name)
        #expect(client.machine.clientEvents.count == 2)
        client.sendLatest("client-typing", parts: 2, on: name)
        #expect(client.machine.clientEvents.count == 4)
        client.sendLatest("client-typing", parts: 1, on: name)
        #expect(client.machine.clientEvents.count == 3)
    }

    @Test("An event from sendLatest() does not wait for a subscription or a connection")
    func latestIsDropped() {
        var client = CoreClient()
        client.subscribe(name)
        #expect(client.sendLatest("client-typing", on: name) == [])
        client.connect()
        client.establish()
        client.authorized(name)
        #expect(client.received(.success(name)).wire == [])
        // If the connection is lost while an event from `sendLatest` is held back by the rate limit, the client drops
        // the event.
        for _ in 1...11 { client.trigger("client-x", on: name) }
        client.sendLatest("client-typing", on: name)
        #expect(client.closed().reports.filter { $0.code != .connectionClosed }.isEmpty)
        client.connect()
        client.establish()
        client.authorized(name)
        #expect(client.received(.success(name)).wire == ["send 2 client-x on private-a"])
        let counts = client.machine.statistics(now: client.now).clientEvents
        #expect(counts.dropped == 2)
    }

    @Test("Events that the rate limit held back do not wait on the next connection")
    func limitOverLoss() {
        var client = subscribed(name) { $0.clientEventsPerSecond = 1 }
        client.trigger("client-1", on: name)
        client.trigger("client-2", on: name)
        #expect(client.closed().timers.words.contains("stop clientEvents"))
        client.connect()
        client.establish()
        client.authorized(name)
        #expect(client.received(.success(name)).wire == ["send 2 client-2 on private-a"])
    }

    // MARK: send

    @Test(
        "A call that awaits an event returns when the socket has written the event, or throws if the write failed",
        arguments: [true, false]
    )
    func awaited(isWritten: Bool) {
        var client = subscribed(name)
        #expect(client.send("client-x", on: name) == ["send 1 client-x on private-a awaited"])
        let error = isWritten ? nil : PusherClientError(.connectionClosed, "gone")
        #expect(client.written(1, error: error) == [isWritten ? "resume 1 done" : "resume 1 failed connectionClosed"])
        #expect(client.cancelWait(1) == [])
    }

    enum Absence: CaseIterable { case unconnected, authorizing, subscribing, failed, lost, unsubscribed, never }

    @Test("A call that awaits an event fails without a subscribed channel", arguments: Absence.allCases)
    func notSubscribed(absence: Absence) {
        var client = absence == .unconnected ? CoreClient() : CoreClient.connected()
        if absence != .never { client.subscribe(name) }
        switch absence {
        case .unconnected, .authorizing, .never: break
        case .subscribing: client.authorized(name)
        case .failed: client.authorized(name, .failure(AuthorizationError(.refused, "no")))
        case .lost:
            client.authorized(name)
            client.received(.success(name))
            client.closed()
        case .unsubscribed: client.unsubscribe(name)
        }
        let isGone = absence == .unsubscribed || absence == .never
        #expect(
            client.send("client-x", on: name) == ["resume 1 failed \(isGone ? "unsubscribed" : "notSubscribed")"]
        )
    }

    @Test("Cancelling a call drops its event if the rate limit holds the event back")
    func cancelled() {
        var client = subscribed(name) { $0.clientEventsPerSecond = 1 }
        client.trigger("client-1", on: name)
        client.send("client-2", on: name)
        client.send("client-3", on: name)
        #expect(client.cancelWait(1) == ["resume 1 cancelled"])
        #expect(client.advance(by: .milliseconds(1_100)).wire == ["send 1 client-3 on private-a awaited"])
        // Cancelling a call does not take back an event that the socket already has.
        #expect(client.cancelWait(2) == ["resume 2 cancelled"])
        #expect(client.written(2) == [])
    }

    @Test("On the next connection, the client first sends the events that the old socket did not write")
    func notWritten() {
        var client = subscribed(name) { $0.clientEventsPerSecond = 3 }
        for letter in ["a", "b", "c", "d"] { client.trigger("client-\(letter)", on: name) }
        client.notWritten("client-b")
        client.notWritten("client-c")
        client.closed()
        client.trigger("client-e", on: name)
        client.decide(.zero)
        client.advance(by: .zero)
        client.establish()
        client.authorized(name)
        let sent = client.received(.success(name)).wire + client.advance(by: .seconds(2)).wire
        #expect(
            sent.words == [
                "send 2 client-b on private-a", "send 2 client-c on private-a", "send 2 client-d on private-a",
                "send 2 client-e on private-a",
            ]
        )
        client.unsubscribe(name)
        subscribe(name, &client)
        // The app has unsubscribed the event's channel, so the client does not send the event on the new channel.
        #expect(client.notWritten("client-e") == ["report notSubscribed"])
    }

    @Test("The client sends an event again if its failed write is reported after the next subscription")
    func lateNews() {
        var client = subscribed(name)
        client.trigger("client-a", on: name)
        client.closed()
        client.decide(.zero)
        client.advance(by: .zero)
        client.establish()
        client.authorized(name)
        client.received(.success(name))
        #expect(client.notWritten("client-a") == ["send 2 client-a on private-a"])
    }

    @Test("An awaited event fails when the connection is lost, and the client sends other events after it reconnects")
    func lost() {
        var client = subscribed(name) { $0.clientEventsPerSecond = 1 }
        client.trigger("client-1", on: name)
        client.send("client-2", on: name)
        client.trigger("client-3", on: name)
        #expect(client.closed().outcomes == ["resume 1 failed notSubscribed"])
        client.connect()
        client.establish()
        client.authorized(name)
        #expect(client.received(.success(name)).wire == ["send 2 client-3 on private-a"])
    }

    @Test("The error for an event that waited on an unsubscribed channel names the event")
    func droppedEventName() {
        var client = subscribed(name) { $0.clientEventsPerSecond = 1 }
        client.trigger("client-1", on: name)
        client.trigger("client-2", on: name)
        let error = client.unsubscribe(name).reports.first
        #expect(error?.eventName == "client-2")
        #expect(error?.message == #"Client event "client-2" not sent: the channel was unsubscribed."#)
    }

    @Test(
        "Calls that await events fail when the channel is unsubscribed or the client is released",
        arguments: [true, false]
    )
    func ended(isRelease: Bool) {
        var client = subscribed(name) { $0.clientEventsPerSecond = 1 }
        for number in 1...3 { client.send("client-\(number)", on: name) }
        let transcript = isRelease ? client.release() : client.unsubscribe(name)
        let queued = Transcript(
            isRelease
                ? ["resume 2 failed notSubscribed", "resume 3 failed notSubscribed", "resume 1 failed disconnected"]
                : ["resume 2 failed unsubscribed", "resume 3 failed unsubscribed"]
        )
        #expect(transcript.outcomes == queued)
        #expect(client.advance(by: .seconds(10)).wire.words.contains { $0.contains("client-") } == false)
    }

    @Test("An awaited event fails if the queue is full")
    func full() {
        var client = subscribed(name) {
            $0.clientEventsPerSecond = 1
            $0.queuedClientEvents = 1
        }
        client.trigger("client-1", on: name)
        client.send("client-2", on: name)
        #expect(client.send("client-3", on: name) == ["resume 2 failed clientEventQueueFull"])
    }

    // MARK: 4301

    private func rejected(_ message: String = "rate limit", channel: String? = nil) -> Envelope {
        .error(4301, message, channel: channel)
    }

    @Test("A rejected event belongs to the channel that the server names")
    func named() {
        var client = subscribed("private-a", "private-b")
        client.trigger("client-1", on: "private-b")
        let told: Transcript = ["report clientEventRejected 4301 of private-a", "deliver private-a pusher:error"]
        #expect(client.received(rejected(channel: "private-a")) == told)
        #expect(client.received(rejected("Client event rejected on private-a.")) == told)
        #expect(client.received(rejected(channel: "stranger")) == ["report clientEventRejected 4301 of stranger"])
    }

    @Test("A rejection without a name belongs to the only channel with a recent client event")
    func recent() {
        var client = subscribed("private-a", "private-b")
        #expect(client.received(rejected()) == ["report serverError 4301"])
        client.trigger("client-1", on: "private-a")
        #expect(
            client.received(rejected()) == [
                "report clientEventRejected 4301 of private-a", "deliver private-a pusher:error",
            ]
        )
        client.trigger("client-2", on: "private-b")
        #expect(client.received(rejected()) == ["report clientEventRejected 4301"])
    }

    @Test("A rejection never belongs to a channel without client events, even if its text contains the name")
    func wordOfTheMessage() {
        var client = CoreClient.connected()
        for name in ["client", "rate"] {
            client.subscribe(name)
            client.received(.success(name))
        }
        #expect(client.received(rejected("client events: rate limit")) == ["report clientEventRejected 4301"])
    }

    @Test("An unsubscribed channel gets no report of a rejection")
    func rejectedAfterUnsubscribe() {
        var client = subscribed(name)
        client.trigger("client-1", on: name)
        client.unsubscribe(name)
        #expect(client.received(rejected()).words.contains { $0.hasPrefix("deliver") } == false)
    }

    @Test("Without a recent client event, error 4301 belongs to a client event only if the error's text says so")
    func noneSent() {
        var client = subscribed("private-a", "private-b")
        client.trigger("client-1", on: "private-a")
        client.advance(by: .milliseconds(9_999))
        #expect(client.received(rejected()).words.first == "report clientEventRejected 4301 of private-a")
        client.advance(by: .milliseconds(1))
        #expect(client.received(rejected()) == ["report serverError 4301"])
        #expect(client.received(rejected("Client event rejected")).words.first?.contains("clientEventRejected") == true)
    }

    @Test("A rejected client event fails neither a pending subscription nor a sign-in")
    func nothingElse() {
        var client = CoreClient.connected()
        client.signIn()
        client.authorized(nil)
        client.subscribe("a")
        #expect(client.received(rejected()).told == ["report serverError 4301"])
        #expect(client.phase(of: "a") == "subscribing")
        #expect(client.machine.signIn.isAwaitingServer)
    }
}
