import Foundation
import Testing

/// What `make check-memory` has LeakSanitizer find, to know that it would find others.
@Suite("A planted leak")
struct PlantedLeakTests {
    private final class Knot { var other: Knot? }

    private static var isWanted: Bool { ProcessInfo.processInfo.environment["PLANT_LEAK"] != nil }

    @Test("two objects that hold each other", .enabled(if: isWanted))
    func knot() {
        // Many, so that no forgotten copy of an address hides them all.
        for _ in 1...100 {
            let knot = Knot()
            knot.other = Knot()
            knot.other?.other = knot
        }
    }
}
