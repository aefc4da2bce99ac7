import PusherProtocol
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
        let bytes = ContiguousArray(text.utf8)
        var scanner = JSONScanner()
        scanner.skipWhitespace(bytes.span)
        do {
            try scanner.skipValue(bytes.span)
            try scanner.expectEnd(bytes.span)
        } catch {
            return nil
        }
        tokens = Self.tokens(of: bytes)
    }

    static func quoted(_ text: String) -> String {
        var writer = JSONWriter(minimumCapacity: text.utf8.count + 2)
        writer.write(string: text)
        return writer.text
    }

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

    /// Returns the tokens of the bytes, which must be valid JSON.
    private static func tokens(of bytes: ContiguousArray<UInt8>) -> [Token] {
        var tokens: [Token] = []
        var index = 0
        while index < bytes.count {
            let start = index
            index += 1
            switch bytes[start] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): tokens.append(.open(text(bytes[start..<index])))
            case UInt8(ascii: "}"), UInt8(ascii: "]"): tokens.append(.close(text(bytes[start..<index])))
            case UInt8(ascii: ","): tokens.append(.comma)
            case UInt8(ascii: ":"): tokens.append(.colon)
            case UInt8(ascii: "\""):
                while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
                    index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                index = min(index + 1, bytes.count)
                tokens.append(.string(text(bytes[start..<index])))
            case 0x09, 0x0A, 0x0D, 0x20: continue
            case let first:
                while index < bytes.count, isScalar(bytes[index]) { index += 1 }
                let word = text(bytes[start..<index])
                tokens.append((0x61...0x7A).contains(first) ? .literal(word) : .number(word))
            }
        }
        return tokens
    }

    private static func isScalar(_ byte: UInt8) -> Bool { byte.isAlphanumeric || "+-.".utf8.contains(byte) }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
    private static func text(_ bytes: Slice<ContiguousArray<UInt8>>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
