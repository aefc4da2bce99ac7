extension AuthEndpoint {
    /// Names and values that are sent in a form, in their order. A name may appear more than once.
    ///
    /// ```swift
    /// let parameters: AuthEndpoint.Parameters = ["room": "12", "tag": "a", "tag": "b"]
    /// ```
    /// Printing them shows the names only.
    public struct Parameters: Sendable, Equatable {
        /// One parameter. Neither name nor value is percent-encoded.
        public struct Element: Hashable, Sendable {
            /// The name.
            public var name: String
            /// The value.
            public var value: String

            /// Makes a parameter.
            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }

        /// The parameters, in their order.
        public var elements: [Element]

        /// Makes parameters.
        public init(_ elements: [Element] = []) { self.elements = elements }

        /// Makes parameters from a dictionary, in the order of their names.
        public init(_ values: [String: String]) {
            elements = values.sorted { $0.key < $1.key }.map { Element(name: $0.key, value: $0.value) }
        }

        /// Adds a parameter at the end.
        public mutating func append(name: String, value: String) { elements.append(Element(name: name, value: value)) }

        /// These parameters without the names that the others have, followed by the others.
        func overridden(by others: Parameters) -> Parameters {
            let names = Set(others.elements.map(\.name))
            return Parameters(elements.filter { !names.contains($0.name) } + others.elements)
        }
    }
}

extension AuthEndpoint.Parameters: ExpressibleByDictionaryLiteral {
    /// Makes parameters in the order in which they are written. A name may appear more than once.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Element(name: $0.0, value: $0.1) })
    }
}

extension AuthEndpoint.Parameters: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names.
    public var description: String { "Parameters(\(elements.map(\.name).joined(separator: ", ")))" }
    /// The names.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension AuthEndpoint.Parameters.Element: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name.
    public var description: String { name }
    /// The name.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
