import Foundation

/// The public types of the package, as `Docs/API` lists them.
enum PublicTypes {
    /// The libraries with a listing.
    static let products: [String] = {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        return (names ?? []).filter { $0.hasSuffix(".txt") }.map { String($0.dropLast(4)) }.sorted()
    }()

    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Docs/API")

    /// The types of traits that are off. The listing has the types of all traits.
    private static var ofOtherTraits: Set<String> {
        #if Compression
            []
        #else
            ["WebSocketCompression"]
        #endif
    }

    /// Returns the lines of a library's listing.
    static func lines(of product: String) throws -> [String] {
        let text = try String(contentsOf: folder.appendingPathComponent("\(product).txt"), encoding: .utf8)
        return text.split(separator: "\n").dropFirst().map(String.init)
    }

    /// Returns the names of the types of a library whose values can contain text from the app, a server or the network.
    ///
    /// An enumeration without associated values cannot. A struct with only a raw value is a name, such as an error
    /// code, and shows this name on purpose.
    static func names(of product: String) throws -> Set<String> {
        let lines = try lines(of: product)
        var names: Set<String> = []
        for line in lines {
            guard
                let match = line.firstMatch(
                    of: /^(?:@[A-Za-z]+(?:\([^)]*\))? )*(?:final )?(class|struct|enum|actor) ([A-Za-z_.]+)/
                )
            else {
                continue
            }
            let name = String(match.2)
            let hasRawValue = lines.contains { $0.contains("let \(name).rawValue: ") }
            let cases = lines.filter { $0.hasPrefix("case \(name).") }
            if hasRawValue || match.1 == "enum" && !cases.contains(where: { $0.contains("(") }) { continue }
            names.insert(name)
        }
        return names.subtracting(ofOtherTraits)
    }

    /// Returns the name of a value's type, without the module and without generic arguments.
    static func name(of value: Any) -> String {
        var name = ""
        var depth = 0
        for character in String(reflecting: type(of: value)) {
            if character == "<" { depth += 1 }
            if depth == 0 { name.append(character) }
            if character == ">" { depth -= 1 }
        }
        return String(name.drop { $0 != "." }.dropFirst())
    }
}
