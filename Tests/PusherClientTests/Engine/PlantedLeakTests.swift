import Foundation
import Testing

/// The leak that `make check-memory` requires LeakSanitizer to find, to prove that it finds leaks.
@Suite("A planted leak")
struct PlantedLeakTests {
    private final class Knot { var other: Knot? }

    private static var isWanted: Bool { ProcessInfo.processInfo.environment["PLANT_LEAK"] != nil }

    @Test("two objects that hold each other", .enabled(if: isWanted))
    func knot() {
        // Many, so that a remaining copy of one address does not hide them all.
        for _ in 1...100 {
            let knot = Knot()
            knot.other = Knot()
            knot.other?.other = knot
        }
    }
}
