import NIOConcurrencyHelpers

/// The violations that were found.
final class Violations: Sendable {
    private let texts = NIOLockedValueBox<[String]>([])

    var all: [String] { texts.withLockedValue { $0 } }
    var isEmpty: Bool { texts.withLockedValue { $0.isEmpty } }

    func add(_ text: String) {
        texts.withLockedValue { texts in
            // The first violations show the defect, and later violations follow from them.
            if texts.count < 20 { texts.append(text) }
        }
    }

    func check(_ condition: Bool, _ text: @autoclosure () -> String) {
        if !condition { add(text()) }
    }
}
