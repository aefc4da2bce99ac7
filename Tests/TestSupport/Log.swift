import NIOConcurrencyHelpers

/// A list that callbacks of any thread append to.
package final class Log<Element: Sendable>: Sendable {
    private let box = NIOLockedValueBox<[Element]>([])

    package init() {}

    package func append(_ element: Element) { box.withLockedValue { $0.append(element) } }
    package var elements: [Element] { box.withLockedValue { $0 } }
    package var count: Int { box.withLockedValue { $0.count } }

    /// What was appended since the last call.
    package func take() -> [Element] {
        box.withLockedValue { elements in
            defer { elements = [] }
            return elements
        }
    }
}
