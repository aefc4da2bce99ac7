import Foundation

/// The string literals in the sources that become error messages.
struct SourceMessages {
    struct Message: CustomStringConvertible {
        /// The file name and the line number.
        var place: String
        /// The code that receives the literal: an error type, `init`, a function, or nil for `let message = "…"`.
        var receiver: String?
        var code: String?
        /// The message, with `□` for each interpolation.
        var text: String
        var interpolations: [String]

        var description: String { "\(place): \(text)" }
    }

    /// The folder of the package.
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private(set) var messages: [Message] = []

    /// - Parameter folder: A folder below `Sources`.
    init(in folder: String) throws {
        let root = SourceMessages.package.appendingPathComponent("Sources").appendingPathComponent(folder)
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted()
        where path.hasSuffix(".swift") {
            let source = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            messages += Self.messages(in: source, file: "\(folder)/\(path)")
        }
    }

    /// Finds the messages in a source file. A literal counts as a message if it follows `receiver(.code,` or `message
    /// =`. Literals that are joined with `+` form one message.
    static func messages(in source: String, file: String) -> [Message] {
        var messages: [Message] = []
        var reader = LiteralReader(source)
        var wasMessage = false
        while let literal = reader.next() {
            let before = literal.codeBefore
            if before.hasSuffix("+"), wasMessage, !messages.isEmpty {
                messages[messages.count - 1].text += literal.text
                messages[messages.count - 1].interpolations += literal.interpolations
                continue
            }
            var message = Message(
                place: "\(file):\(literal.line)",
                text: literal.text,
                interpolations: literal.interpolations
            )
            wasMessage = false
            if before.hasSuffix("message =") {
                wasMessage = true
            } else if before.hasSuffix(","), let match = before.firstMatch(of: /(\w+)\(\s*([^()]*)$/),
                let code = match.2.firstMatch(of: /^(?:_ )?(?:proxy == nil \? )?\.(\w+)/)
            {
                (message.receiver, message.code, wasMessage) = (String(match.1), String(code.1), true)
            }
            wasMessage = wasMessage && literal.text.contains(" ")
            if wasMessage { messages.append(message) }
        }
        return messages
    }

    /// Returns the names in lines like `public static let name = Self(rawValue: …)`.
    static func codes(in path: String) throws -> [String] {
        let url = SourceMessages.package.appendingPathComponent("Sources").appendingPathComponent(path)
        return try String(contentsOf: url, encoding: .utf8)
            .matches(of: /public static let (\w+) = Self\(rawValue/).map { String($0.1) }
    }
}

/// A reader for the string literals in Swift source that skips comments.
private struct LiteralReader {
    struct Literal {
        var line: Int
        var text: String
        var interpolations: [String]
        /// The code between the previous literal and this one, without trailing white space.
        var codeBefore: String
    }

    private let bytes: [UInt8]
    private var index = 0
    private var line = 1
    private static let quote = UInt8(ascii: "\"")
    private static let newline = UInt8(ascii: "\n")

    init(_ source: String) { bytes = Array(source.utf8) }

    mutating func next() -> Literal? {
        var code: [UInt8] = []
        while index < bytes.count {
            if starts(with: "//") {
                while index < bytes.count, bytes[index] != Self.newline { index += 1 }
                continue
            }
            let hashes = bytes[index...].prefix { $0 == UInt8(ascii: "#") }.count
            if index + hashes < bytes.count, bytes[index + hashes] == Self.quote {
                let start = line
                let (text, interpolations) = readLiteral(hashes)
                let before = String(decoding: code.suffix(300), as: UTF8.self)
                return Literal(
                    line: start,
                    text: text,
                    interpolations: interpolations,
                    codeBefore: before.trimmingCharacters(in: .whitespacesAndNewlines)
                )
            }
            code.append(bytes[index])
            advance()
        }
        return nil
    }

    private mutating func readLiteral(_ hashes: Int) -> (text: String, interpolations: [String]) {
        let hash = String(repeating: "#", count: hashes)
        index += hashes
        let quotes = starts(with: "\"\"\"") ? "\"\"\"" : "\""
        index += quotes.utf8.count
        var text: [UInt8] = []
        var interpolations: [String] = []
        while index < bytes.count, !starts(with: quotes + hash) {
            if starts(with: "\\\(hash)(") {
                index += 2 + hashes
                interpolations.append(readInterpolation())
                text += Array("□".utf8)
            } else if starts(with: "\\\n") {
                advance()
                skipWhiteSpace()
            } else if starts(with: "\\"), hashes == 0 {
                advance()
                text.append(bytes[index])
                advance()
            } else if bytes[index] == Self.newline {
                skipWhiteSpace()
                text.append(UInt8(ascii: " "))
            } else {
                text.append(bytes[index])
                advance()
            }
        }
        index += quotes.utf8.count + hashes
        let literal = String(decoding: text, as: UTF8.self)
        return (quotes == "\"" ? literal : literal.trimmingCharacters(in: .whitespaces), interpolations)
    }

    /// Reads the content of an interpolation's parentheses, including nested literals. The index must be after the
    /// opening parenthesis.
    private mutating func readInterpolation() -> String {
        let start = index
        var depth = 1
        while index < bytes.count {
            if bytes[index] == Self.quote {
                _ = readLiteral(0)
                continue
            }
            if bytes[index] == UInt8(ascii: "(") { depth += 1 }
            if bytes[index] == UInt8(ascii: ")") { depth -= 1 }
            advance()
            if depth == 0 { break }
        }
        return String(decoding: bytes[start..<index].dropLast(), as: UTF8.self)
    }

    private mutating func skipWhiteSpace() {
        while index < bytes.count, bytes[index] == Self.newline || bytes[index] == UInt8(ascii: " ") { advance() }
    }

    private mutating func advance() {
        if bytes[index] == Self.newline { line += 1 }
        index += 1
    }

    private func starts(with text: String) -> Bool { bytes[index...].starts(with: text.utf8) }
}
