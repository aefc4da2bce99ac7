import RealtimeJSON
import RealtimeNetworking
import RealtimePrimitives

/// JSON that keeps its original numbers and the original order of its members.
struct PrintedJSON: Sendable {
    private enum Token {
        case open(String), close(String), comma, colon
        case string(String), number(String), literal(String)
    }

    private let tokens: [Token]

    /// Parses JSON. Returns nil if the JSON is invalid or nested too deeply.
    init?(_ text: String) {
        // The method that makes the tokens is recursive.
        guard let tokens = try? JSONNode.read(text, maximumDepth: 256, Self.tokens) else { return nil }
        self.tokens = tokens
    }

    static func quoted(_ text: String) -> String { JSONWriter.string(text) }

    /// Whether the JSON is an object or an array.
    var isContainer: Bool {
        if case .open? = tokens.first { true } else { false }
    }

    /// The JSON in one line, without spaces.
    var compact: String { tokens.map { Self.text(of: $0) }.joined() }

    /// Formats the JSON for people. Short JSON gets one line, and longer JSON gets one line for each member. Escapes
    /// characters that control a terminal.
    func pretty(_ style: TextStyle, indentation: String = "  ", width: Int = 60) -> String {
        if compact.utf8.count <= width { return oneLine(style) }
        var text = ""
        var depth = 0
        for (index, token) in tokens.enumerated() {
            let line = { (depth: Int) in "\n\(indentation)" + String(repeating: "  ", count: depth) }
            switch token {
            case .open:
                depth += 1
                text += Self.text(of: token)
                if !isClose(index + 1) { text += line(depth) }
            case .close:
                depth -= 1
                if !isOpen(index - 1) { text += line(depth) }
                text += Self.text(of: token)
            case .comma: text += ",\(line(depth))"
            case .colon: text += ": "
            case .string, .number, .literal: text += painted(index, style)
            }
        }
        return "\n\(indentation)\(text)"
    }

    private func oneLine(_ style: TextStyle) -> String {
        tokens.indices.map { index in
            switch tokens[index] {
            case .comma: ", "
            case .colon: ": "
            default: painted(index, style)
            }
        }.joined()
    }

    private func painted(_ index: Int, _ style: TextStyle) -> String {
        switch tokens[index] {
        case .string(let text): style.paint(text.escapingControls, isColon(index + 1) ? .key : .text)
        case .number(let text): style.paint(text, .number)
        case .literal(let text): style.paint(text, .literal)
        default: Self.text(of: tokens[index])
        }
    }

    private func isOpen(_ index: Int) -> Bool {
        if tokens.indices.contains(index), case .open = tokens[index] { true } else { false }
    }

    private func isClose(_ index: Int) -> Bool {
        if tokens.indices.contains(index), case .close = tokens[index] { true } else { false }
    }

    private func isColon(_ index: Int) -> Bool {
        if tokens.indices.contains(index), case .colon = tokens[index] { true } else { false }
    }

    private static func text(of token: Token) -> String {
        switch token {
        case .open(let text), .close(let text), .string(let text), .number(let text), .literal(let text): text
        case .comma: ","
        case .colon: ":"
        }
    }

    private static func tokens(of value: JSONNode) -> [Token] {
        switch value.kind {
        case .null, .bool: return [.literal(value.text)]
        case .number: return [.number(value.text)]
        case .string: return [.string(value.text)]
        case .array:
            let elements = value.elements.map { tokens(of: $0) }
            return [.open("[")] + elements.joined(separator: [.comma]) + [.close("]")]
        case .object:
            let members = zip(value.keys, value.members).map { [.string($0.text), .colon] + tokens(of: $1.value) }
            return [.open("{")] + members.joined(separator: [.comma]) + [.close("}")]
        }
    }
}
