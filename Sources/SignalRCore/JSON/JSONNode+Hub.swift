import RealtimeJSON

/// The parts of a JSON text that the hub protocol itself needs.
extension JSONNode {
    /// Reads a whole text, and calls a closure with its value.
    static func read<Result>(
        _ text: ArraySlice<UInt8>,
        _ body: (JSONNode) throws -> Result
    ) throws(HubProtocolViolation) -> Result {
        do {
            return try text.withUnsafeBytes { try read($0, body) }
        } catch let error as HubProtocolViolation {
            throw error
        } catch JSONSyntaxError.malformed(let offset) {
            throw .invalid(at: offset)
        } catch {
            throw HubProtocolViolation("JSON is nested too deeply, or too large")
        }
    }

    /// Returns the members of an object in order.
    func requiredMembers() throws(HubProtocolViolation) -> [(name: String, value: JSONNode)] {
        guard kind == .object else { throw .invalid(at: range.lowerBound) }
        return members
    }

    /// Returns the elements of an array.
    func requiredElements() throws(HubProtocolViolation) -> [JSONNode] {
        guard kind == .array else { throw .invalid(at: range.lowerBound) }
        return elements
    }

    /// Returns the text of a string.
    func requiredString() throws(HubProtocolViolation) -> String {
        guard let string else { throw HubProtocolViolation("a JSON value is not a string") }
        return string
    }

    /// A non-negative integer; `nil` for any other value, and for a number that is too large.
    var unsigned: UInt64? { number.flatMap { $0.hasPrefix("-") ? nil : UInt64($0) } }

    /// Returns the value's bytes in the text that the node was read from.
    func encoded(in text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text[text.startIndex + range.lowerBound..<text.startIndex + range.upperBound]
    }
}

extension HubProtocolViolation {
    fileprivate static func invalid(at offset: Int) -> Self {
        HubProtocolViolation("a message is not valid JSON at byte \(offset)")
    }
}
