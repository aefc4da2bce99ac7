import Foundation
import NIOConcurrencyHelpers

/// A program of this package, in a process of its own.
final class ChildProcess: Sendable {
    /// Its output, line by line.
    let lines: AsyncStream<String>
    let processID: Int32
    private let process: NIOLockedValueBox<Process>
    private let ended: AsyncStream<Int32>

    init(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = try Self.folder.appendingPathComponent(program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.standardError
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let unread = NIOLockedValueBox<[UInt8]>([])
        pipe.fileHandleForReading.readabilityHandler = { handle in
            let bytes = handle.availableData
            guard !bytes.isEmpty else {
                handle.readabilityHandler = nil
                return continuation.finish()
            }
            let complete = unread.withLockedValue { unread -> [String] in
                unread += bytes
                var parts = unread.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                unread = parts.popLast().map(Array.init) ?? []
                return parts.map { String(decoding: $0, as: UTF8.self) }
            }
            for line in complete { continuation.yield(line) }
        }
        let (ended, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            end.yield(process.terminationStatus)
            end.finish()
        }
        try process.run()
        self.lines = lines
        self.ended = ended
        self.processID = process.processIdentifier
        self.process = NIOLockedValueBox(process)
    }

    deinit { kill(processID, SIGKILL) }

    func send(_ signal: Int32) { kill(processID, signal) }

    /// The exit code; for a process that a signal has ended, the signal.
    func end() async -> Int32? {
        for await status in ended { return status }
        return nil
    }

    /// Where the tests and the programs are built to.
    private static var folder: URL {
        get throws {
            // The tests' own program, or the bundle that is loaded into another one.
            let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
            let path = bundle.prefix(upTo: bundle.range(of: ".xctest")?.upperBound ?? bundle.endIndex)
            return URL(fileURLWithPath: String(path)).deletingLastPathComponent()
        }
    }
}
