import Foundation

/// A reader for the names of tests in source files.
enum TestSources {
    /// The folder of the package.
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Returns the tests in all source files of a folder, in the form `Suite.function`.
    static func names(under folder: URL) throws -> Set<String> {
        var names: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift") {
            names.formUnion(
                self.names(in: try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8))
            )
        }
        return names
    }

    /// Returns the tests in one source file, except disabled tests.
    ///
    /// The function reads line by line. A suite is a type or an extension at the start of a line. The tests of a suite
    /// are the functions after an attribute `@Test` at the start of a line, apart from white space.
    static func names(in source: String) -> Set<String> {
        var names: Set<String> = []
        var suite: String?
        var attribute: String?
        var isInText = false
        for line in source.split(separator: "\n") {
            let text = line.drop { $0 == " " }
            // A multiline string begins at the end of a line, and ends at the start of another line.
            isInText = isInText ? !text.hasPrefix("\"\"\"") : text.hasSuffix("\"\"\"")
            guard !isInText else { continue }
            if let type = typeName(line) { suite = type }
            if line == "}" { suite = nil }
            if text.hasPrefix("@Test") { attribute = "" }
            guard attribute != nil else { continue }
            attribute? += text
            guard let function = functionName(text) else { continue }
            let isDisabled = attribute?.contains(".disabled(") == true
            if let suite, !isDisabled { names.insert("\(suite).\(function)") }
            attribute = nil
        }
        return names
    }

    private static func typeName(_ line: Substring) -> String? {
        guard line.first?.isLetter == true || line.first == "@" else { return nil }
        return identifier(in: line, after: ["struct", "class", "enum", "extension"])
    }

    private static func functionName(_ line: Substring) -> String? { identifier(in: line, after: ["func"]) }

    /// Returns the name after one of the keywords, unless the keyword is in quotes.
    private static func identifier(in line: Substring, after keywords: Set<Substring>) -> String? {
        let words = line.split(separator: " ")
        var quotes = 0
        for (word, next) in zip(words, words.dropFirst()) {
            quotes += word.count { $0 == "\"" }
            guard quotes.isMultiple(of: 2), keywords.contains(word) else { continue }
            let name = next.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            return name.isEmpty ? nil : String(name)
        }
        return nil
    }
}
