import PusherProtocol

/// The names of events that arrived and that nobody listens to. Servers can use any number of names, so the set keeps
/// only the first.
struct UnheardNames {
    static let maximumCount = 100

    private var names: Set<WireText> = []

    /// Adds a name. Returns `false` if the set has the name already, or is full.
    mutating func insert(_ name: String) -> Bool {
        guard names.count < Self.maximumCount else { return false }
        return names.insert(WireText(name.prefix(fittingUTF8Bytes: EventName.maximumLength))).inserted
    }
}
