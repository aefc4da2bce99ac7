import ClientTestSupport
import Dispatch
import NIOCore
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Callbacks of the watchlist", .limited, .overEachTransport)
struct WatchlistCallbackTests {
    let world = VirtualWorld()

    private func send(_ name: String, _ id: String, to pusher: Pusher) async {
        let engine = pusher.engine
        engine.eventLoop.execute { engine.watchlistChanged(WatchlistEvent(name: name, userIds: [id])) }
        await world.run()
    }

    @Test("an event of the watchlist counts once toward the limit of waiting callbacks, even with several callbacks")
    func oneJob() async throws {
        let queue = DispatchQueue(label: "stopped")
        let pusher = world.makeClient(.virtual(limits: .init(pendingCallbacks: 3), callbackQueue: .queue(queue)))
        let calls = Log<String>()
        for number in 1...5 {
            pusher.user.watchlist.bind(eventName: "online") { calls.append("\(number) \($0.userIds[0])") }
            pusher.user.watchlist.bind(eventName: "offline") { _ in calls.append("offline") }
        }
        queue.suspend()
        for id in ["a", "b", "c"] { await send("online", id, to: pusher) }
        for _ in 1...10 { await send("other", "x", to: pusher) }
        queue.resume()
        queue.sync {}
        let expected: [String] = ["a", "b", "c"].flatMap { (id: String) in (1...5).map { "\($0) \(id)" } }
        #expect(calls.elements == expected)
        #expect(pusher.statistics.events.dropped == [:])
    }

    @Test("an unbound callback does not run, even if another callback of the same event unbinds it")
    func unbinding() async throws {
        let queue = DispatchQueue(label: "stopped")
        let pusher = world.makeClient(.virtual(callbackQueue: .queue(queue)))
        let watchlist = pusher.user.watchlist
        let calls = Log<String>()
        let ids = Log<String>()
        watchlist.bind(eventName: "online") { _ in
            calls.append("first")
            for id in ids.elements { watchlist.unbind(callbackId: id) }
        }
        ids.append(watchlist.bind(eventName: "online") { _ in calls.append("second") })
        let waiting = watchlist.bind(eventName: "online") { _ in calls.append("third") }
        queue.suspend()
        await send("online", "a", to: pusher)
        watchlist.unbind(callbackId: waiting)
        queue.resume()
        queue.sync {}
        #expect(calls.elements == ["first"])
    }
}
