import Foundation
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Connections with many subscriptions", .limited)
struct ManySubscriptionsTests {
    @Test("the set of channels keeps the order in which channels were added, and removes channels")
    func order() {
        var names = OrderedNames<String>()
        for name in ["b", "a", "c", "a"] { names.append(name) }
        #expect(names.elements == ["b", "a", "c"])
        names.remove("a")
        names.remove("x")
        #expect(names.elements == ["b", "c"] && !names.contains("a") && names.contains("c"))
        names.append("a")
        #expect(names.elements == ["b", "c", "a"])
        for number in 0..<1_000 { names.append("\(number)") }
        for number in 0..<999 { names.remove("\(number)") }
        #expect(names.elements == ["b", "c", "a", "999"])
        names.append("d")
        names.remove("b")
        #expect(names.elements == ["c", "a", "999", "d"])
    }

    /// Returns the CPU time of this thread for the subscriptions of one connection, their ends, and the loss of the
    /// connection. Other threads and processes do not count.
    private func cost(of count: Int) -> UInt64 {
        var options = Options()
        options.clientEventsPerSecond = nil
        var brain = ServerBrain(options: options, socketIDPrefix: 1)
        let id = brain.makeConnectionID()
        _ = brain.connectionRequested(id, Request(target: "/app/app-key?protocol=7"))
        let start = threadTime()
        for number in 0..<count {
            _ = brain.received(
                .text(#"{"event":"pusher:subscribe","data":{"channel":"a-channel-with-a-long-name-\#(number)"}}"#),
                on: id
            )
        }
        for number in 0..<count / 2 {
            _ = brain.received(
                .text(#"{"event":"pusher:unsubscribe","data":{"channel":"a-channel-with-a-long-name-\#(number)"}}"#),
                on: id
            )
        }
        #expect(brain.openConnections.first?.subscribedChannels.count == count - count / 2)
        _ = brain.connectionEnded(id)
        return threadTime() - start
    }

    private func threadTime() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    @Test("the time for subscriptions of one connection grows linearly with their number")
    func linearTime() {
        // Eight times as many subscriptions take 8 times as long, or 64 times if the time is quadratic.
        let few = (1...3).map { _ in cost(of: 2_500) }.min() ?? 0
        let many = (1...2).map { _ in cost(of: 20_000) }.min() ?? 0
        #expect(many < few * 20, "2,500 subscriptions took \(few) ns, and 20,000 took \(many) ns")
    }
}
