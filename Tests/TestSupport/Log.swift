import NIOConcurrencyHelpers

/// A list to which callbacks on any thread append.
package final class Log<Element: Sendable>: Sendable {
    private let box = NIOLockedValueBox<[Element]>([])

    package init() {}

    package func append(_ element: Element) { box.withLockedValue { $0.append(element) } }
    package var elements: [Element] { box.withLockedValue { $0 } }
    package var count: Int { box.withLockedValue { $0.count } }

    /// Returns the elements since the last call.
    package func take() -> [Element] {
        box.withLockedValue { elements in
            defer { elements = [] }
            return elements
        }
    }
}
