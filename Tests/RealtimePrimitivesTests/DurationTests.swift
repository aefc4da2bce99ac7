import RealtimePrimitives
import TestTraits
import Testing

@Suite("Durations in messages", .limited)
struct DurationTests {
    @Test(
        "messages show durations below one second in milliseconds, and longer durations in seconds",
        arguments: [
            (.seconds(10), "10 s"), (.milliseconds(1_500), "1.5 s"), (.seconds(1), "1 s"),
            (.milliseconds(250), "250 ms"), (.microseconds(1_500), "1.5 ms"), (.zero, "0 ms"), (.seconds(-2), "-2 s"),
        ] as [(Duration, String)]
    )
    func words(duration: Duration, words: String) {
        #expect(duration.inWords == words)
    }
}
