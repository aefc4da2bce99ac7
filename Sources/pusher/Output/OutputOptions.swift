import ArgumentParser
import Foundation

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
        let lines = isJSON ? [JSONLine.object(json())] : text()
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

    static func array(_ texts: [String]) -> String { "[\(texts.joined(separator: ","))]" }
}
