import TestTraits
import Testing

@testable import PusherClient

@Suite("Warnings at a limited rate", .limited)
struct WarningLimiterTests {
    private func kind(_ event: String, on channel: String? = "orders") -> WarningLimiter.Kind {
        WarningLimiter.Kind(code: .undecodableData, channelName: channel, eventName: event)
    }

    private func at(_ seconds: Int) -> Instant { Instant(after: .seconds(seconds)) }

    @Test("the limiter logs the first warning of a kind, then one a minute with the number of skipped warnings")
    func pace() {
        var limiter = WarningLimiter()
        #expect(limiter.admit(kind("a"), now: at(0)) == 0)
        for second in 1..<60 { #expect(limiter.admit(kind("a"), now: at(second)) == nil) }
        #expect(limiter.admit(kind("a"), now: at(60)) == 59)
        #expect(limiter.admit(kind("a"), now: at(61)) == nil)
        #expect(limiter.admit(kind("a"), now: at(500)) == 1)
        #expect(limiter.admit(kind("a"), now: at(600)) == 0)
    }

    @Test("each channel, each event and each code is a separate kind")
    func kinds() {
        var limiter = WarningLimiter()
        #expect(limiter.admit(kind("a"), now: at(0)) == 0)
        #expect(limiter.admit(kind("b"), now: at(0)) == 0)
        #expect(limiter.admit(kind("a", on: "news"), now: at(0)) == 0)
        #expect(limiter.admit(kind("a", on: nil), now: at(0)) == 0)
        #expect(limiter.admit(.init(code: .decryptionFailed, channelName: "orders", eventName: "a"), now: at(0)) == 0)
        #expect(limiter.admit(kind("a"), now: at(0)) == nil)
    }

    @Test("after a hundred kinds in a minute, all other warnings of a code form one kind")
    func manyKinds() {
        var limiter = WarningLimiter()
        var count = 0
        for number in 1...1_000 where limiter.admit(kind("\(number)"), now: at(0)) != nil { count += 1 }
        #expect(count == WarningLimiter.maximumKinds + 1)
        #expect(limiter.admit(kind("1"), now: at(59)) == nil)
        #expect(limiter.admit(kind("new"), now: at(60)) == 0)
    }
}
