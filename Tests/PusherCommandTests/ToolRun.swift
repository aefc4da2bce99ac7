import Foundation
import PusherTestServer
import TestSupport

/// The tool in a separate process, with separate output and errors.
struct ToolRun: Sendable {
    let process: ChildProcess
    /// The process that passes on the tool's standard error.
    private let errorReader: ChildProcess
    private let seenErrors = Log<String>()
    private let folder: URL

    /// - Parameters:
    ///   - arguments: The tool's arguments.
    ///   - environment: The tool's variables. The tool does not get the `PUSHER_` variables of the test process.
    ///   - input: The tool's standard input; nil for no input.
    init(_ arguments: [String], environment: [String: String] = [:], input: String? = nil) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("pusher-tool-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let errors = folder.appendingPathComponent("errors").path
        guard mkfifo(errors, 0o600) == 0 else { throw POSIXError(.EIO) }
        var inputPath = "/dev/null"
        if let input {
            let file = folder.appendingPathComponent("input")
            try Data(input.utf8).write(to: file)
            inputPath = file.path
        }
        let names = [
            "APP_ID", "APP_KEY", "APP_SECRET", "APP_CLUSTER", "HOST", "PORT", "SCHEME", "ENCRYPTION_MASTER_KEY",
        ]
        var words = ["exec", "env"]
        for name in names { words.append("-u PUSHER_\(name)") }
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) {
            words.append("\(name)=\(Self.quoted(value))")
        }
        words.append(#""$0/pusher""#)
        words += arguments.map { Self.quoted($0) }
        words += ["<", Self.quoted(inputPath), "2>", Self.quoted(errors)]
        errorReader = try ChildProcess("/bin/cat", [errors])
        process = try ChildProcess("/bin/bash", ["-c", words.joined(separator: " "), ChildProcess.folder.path])
    }

    static func quoted(_ word: String) -> String { "'" + word.replacingOccurrences(of: "'", with: #"'\''"#) + "'" }

    /// Waits until the standard error contains the string this many times, or until the tool has ended.
    func waitForError(containing text: String, count: Int = 1) async {
        var missing = count - seenErrors.elements.count { $0.contains(text) }
        guard missing > 0 else { return }
        for await line in errorReader.lines {
            seenErrors.append(line)
            if line.contains(text) { missing -= 1 }
            if missing == 0 { return }
        }
    }

    struct Result: Equatable {
        var status: Int32?
        var lines: [String] = []
        var errors: [String] = []
    }

    /// Waits for the end of the tool. Call this method once. The result does not include output lines that the test has
    /// read before, but includes all errors.
    func result() async -> Result {
        var result = Result()
        for await line in process.lines { result.lines.append(line) }
        result.status = await process.end()
        for await line in errorReader.lines { seenErrors.append(line) }
        result.errors = seenErrors.elements.filter { !$0.isEmpty }
        try? FileManager.default.removeItem(at: folder)
        return result
    }

    static func result(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws -> Result {
        try await ToolRun(arguments, environment: environment, input: input).result()
    }
}

extension PusherTestServer {
    /// The tool's options for this server, with a timeout that no command reaches.
    var toolOptions: [String] { ["--url", "\(usesTLS ? "wss" : "ws")://\(host):\(port)", "--timeout", "280"] }

    static let encryptionOptions = ["--encryption-key", Options.testEncryptionMasterKey]
}
