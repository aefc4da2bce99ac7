import Foundation
import TestTraits
import Testing

@Suite("The examples of articles", .limited)
struct DocumentedExampleTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    @Test(
        "the programs of this target contain every example, line by line",
        arguments: [
            ("PusherClient", "Production", 14), ("PusherClient", "ObservingAClient", 3),
            ("PusherClient", "ReceivingEvents", 6), ("PusherTestServer", "PusherTestServer", 5),
            ("WebSocketClient", "WebSocketClient", 3),
            ("PusherTestServer", "ChannelsAndUsers", 6), ("PusherTestServer", "FixedAnswers", 3),
        ]
    )
    func examples(module: String, name: String, count: Int) throws {
        let package = Self.tests.deletingLastPathComponent().deletingLastPathComponent()
        let article = package.appendingPathComponent("Sources/\(module)/\(module).docc/\(name).md")
        let examples = Self.examples(in: try String(contentsOf: article, encoding: .utf8))
        let folder = Self.tests.appendingPathComponent("Programs")
        let programs = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).map {
            "\n\(Self.trimmed(try String(contentsOf: $0, encoding: .utf8)))\n"
        }
        #expect(examples.count >= count)
        for example in examples {
            #expect(programs.contains { $0.contains("\n\(example)\n") }, "no program has these lines:\n\(example)")
        }
    }

    private static func examples(in article: String) -> [String] {
        article.components(separatedBy: "```swift\n").dropFirst().map {
            trimmed($0.components(separatedBy: "```")[0])
        }
    }

    /// Returns the lines without indentation, without alignment of comments, and without empty lines.
    private static func trimmed(_ text: String) -> String {
        text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }.filter { !$0.isEmpty }
            .joined(separator: "\n")
    }
}
