import ArgumentParser
import Foundation
import RealtimePrimitives

/// The options for the output of a command.
struct OutputOptions: ParsableArguments {
    @Flag(
        inversion: .prefixedNo,
        help: "Print JSON, one object in a line, or text for people. Default: JSON, unless the output is a terminal."
    )
    var json: Bool?

    var isJSON: Bool { json ?? !StandardOutput.isTerminal }
    var style: TextStyle { TextStyle(isTerminal: StandardOutput.isTerminal) }

    /// Prints lines of text, or an object.
    func print(text: @autoclosure () -> [String], json: @autoclosure () -> [(String, String?)]) throws {
        var lines = isJSON ? [JSONLine.object(json())] : text()
        if isJSON, StandardOutput.isTerminal { lines = lines.map(JSONLine.forTerminal) }
        if !lines.isEmpty { try StandardOutput.print(lines.map { "\($0)\n" }.joined()) }
    }
}

/// JSON in one line.
enum JSONLine {
    /// - Parameter members: Names, and values as JSON. The object omits members without a value.
    static func object(_ members: [(String, String?)]) -> String {
        let texts = members.compactMap { name, text in text.map { "\(string(name)):\($0)" } }
        return "{\(texts.joined(separator: ","))}"
    }

    static func string(_ text: String) -> String { PrintedJSON.quoted(text) }

    /// Replaces characters that JSON allows in strings, but that affect a terminal or change the direction of text, with
    /// JSON's escapes. The value of the JSON stays the same.
    static func forTerminal(_ line: String) -> String {
        line.unicodeScalars.reduce(into: "") { text, scalar in
            guard String(scalar).escapingControls != String(scalar) else { return text.unicodeScalars.append(scalar) }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16, uppercase: true)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
    }

    static func array(_ texts: [String]) -> String { "[\(texts.joined(separator: ","))]" }
}
