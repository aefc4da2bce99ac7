import Foundation
import TestTraits
import Testing

/// A deliberate leak. `make check-memory` fails if LeakSanitizer does not find this leak.
@Suite("A planted leak", .limited)
struct PlantedLeakTests {
    private final class Knot { var other: Knot? }

    private static var isWanted: Bool { ProcessInfo.processInfo.environment["PLANT_LEAK"] != nil }

    @Test("two objects that hold each other leak", .enabled(if: isWanted))
    func knot() {
        // A remaining copy of an address hides its object from LeakSanitizer, so the test leaks many objects.
        for _ in 1...100 {
            let knot = Knot()
            knot.other = Knot()
            knot.other?.other = knot
        }
    }
}
