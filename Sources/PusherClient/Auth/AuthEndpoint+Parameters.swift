extension AuthEndpoint {
    /// The names and values of a form, in order. A name may appear more than once.
    ///
    /// ```swift
    /// let parameters: AuthEndpoint.Parameters = ["room": "12", "tag": "a", "tag": "b"]
    /// ```
    /// Printing parameters shows only the names.
    public struct Parameters: Sendable {
        /// The parameters, in order. Neither names nor values are percent-encoded.
        private(set) var elements: [(name: String, value: String)]

        /// Creates parameters from a dictionary, sorted by name.
        public init(_ values: [String: String]) {
            elements = values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }

        fileprivate init(elements: [(name: String, value: String)]) { self.elements = elements }

        /// Adds a parameter at the end.
        public mutating func append(name: String, value: String) { elements.append((name, value)) }

        /// Returns the parameters whose names are not in `others`, followed by `others`.
        func overridden(by others: Parameters) -> Parameters {
            let names = Set(others.elements.map { $0.name })
            return Parameters(elements: elements.filter { !names.contains($0.name) } + others.elements)
        }
    }
}

extension AuthEndpoint.Parameters: ExpressibleByDictionaryLiteral {
    /// Creates parameters in the order in which they are written. A name may appear more than once.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements: elements.map { ($0.0, $0.1) })
    }
}

extension AuthEndpoint.Parameters: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names.
    public var description: String { "Parameters(\(elements.map { $0.name }.joined(separator: ", ")))" }
    /// The names.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
