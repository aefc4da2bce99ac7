import RealtimeJSON

/// The members of a JSON object, with their values as JSON text.
package struct JSONMembers: Sendable {
    private var texts = WireTable<String>()

    /// Parses JSON text. Returns nil if the text is not a JSON object, or is nested too deeply. If a key appears twice,
    /// the last one counts.
    package init?(parsing text: String) {
        let texts = try? JSONNode.read(text, maximumDepth: JSONValue.maximumDepth) { object -> WireTable<String>? in
            guard object.kind == .object else { return nil }
            return WireTable(object.members.map { ($0.name, $0.value.text) })
        }
        guard let texts = texts ?? nil else { return nil }
        self.texts = texts
    }

    /// The names of the members, in no order.
    package var names: some Collection<String> { texts.keys }

    /// The JSON text of a value.
    package subscript(key: String) -> String? { texts[key] }

    package func value(_ key: String) -> JSONValue? { texts[key].flatMap { JSONValue(parsing: $0) } }

    /// Returns the JSON text of a value; nil if the value is `null`.
    package func text(_ key: String) -> String? { texts[key].flatMap { $0 == "null" ? nil : $0 } }
}
