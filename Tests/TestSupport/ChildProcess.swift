package import Foundation
import NIOConcurrencyHelpers

/// A program, mostly of this package, in a separate process.
///
/// It does not use Foundation's `Process`. That type learns of the end of a child by a socket, which on Linux all
/// children inherit that are started at the same time. So it notices the end only after those have ended too.
package final class ChildProcess: Sendable {
    /// Its output, line by line.
    package let lines: AsyncStream<String>
    private let processID: pid_t
    /// Set before the system may reuse the number for another process.
    private let isOver = NIOLockedValueBox(false)
    private let ended: AsyncStream<Int32>

    /// - Parameters:
    ///   - program: A program of this package, or the path of another one.
    ///   - arguments: The program's arguments.
    ///   - showsErrors: Whether the lines include its standard error.
    package init(_ program: String, _ arguments: [String], showsErrors: Bool = false) throws {
        let path = program.hasPrefix("/") ? program : Self.folder.appendingPathComponent(program).path
        let (output, processID) = try Self.spawn(path, arguments, showsErrors)
        let (lines, lineContinuation) = AsyncStream.makeStream(of: String.self)
        let (ended, endContinuation) = AsyncStream.makeStream(of: Int32.self)
        self.lines = lines
        self.ended = ended
        self.processID = processID
        Thread.detachNewThread { [isOver] in
            guard let file = fdopen(output, "r") else { return }
            var line: UnsafeMutablePointer<CChar>?
            var capacity = 0
            while getline(&line, &capacity, file) > 0 {
                guard let line else { break }
                lineContinuation.yield(String(cString: line).trimmingCharacters(in: .newlines))
            }
            free(line)
            fclose(file)
            lineContinuation.finish()
            // The number belongs to this process until it is waited for without WNOWAIT.
            var information = siginfo_t()
            while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            let status = isOver.withLockedValue { isOver in
                isOver = true
                var status: Int32 = 0
                while waitpid(processID, &status, 0) < 0, errno == EINTR {}
                return status
            }
            // Like the C macros: the signal that ended it, or its exit code.
            endContinuation.yield(status & 0x7F == 0 ? (status >> 8) & 0xFF : status & 0x7F)
            endContinuation.finish()
        }
    }

    deinit { send(SIGKILL) }

    /// Does nothing to a process that has ended.
    package func send(_ signal: Int32) {
        isOver.withLockedValue { isOver in
            if !isOver { kill(processID, signal) }
        }
    }

    /// The exit code; for a process that a signal has ended, the signal. Call it once.
    package func end() async -> Int32? {
        for await status in ended { return status }
        return nil
    }

    private static let starting = NSLock()

    private static func spawn(
        _ path: String,
        _ arguments: [String],
        _ showsErrors: Bool
    ) throws -> (output: Int32, pid_t) {
        // One after the other, so that no child inherits another one's descriptors.
        starting.lock()
        defer { starting.unlock() }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        #if os(Linux)
            var actions = posix_spawn_file_actions_t()
        #else
            var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        if showsErrors { posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO) }
        // NIO's sockets are inherited, so the child would keep a port in use that has no listener any more.
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd"))?.compactMap { Int32($0) } ?? []
        for descriptor in 3...(open.max() ?? 3) + 256 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var argumentPointers = ([path] + arguments).map { strdup($0) } + [nil]
        var environment = ProcessInfo.processInfo.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argumentPointers + environment { free(pointer) } }
        var processID: pid_t = 0
        let failure = posix_spawn(&processID, path, &actions, nil, &argumentPointers, &environment)
        close(ends[1])
        guard failure == 0 else {
            close(ends[0])
            throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .ENOENT)
        }
        return (ends[0], processID)
    }

    /// The folder with the built tests and programs.
    package static var folder: URL {
        // The tests' own program, or the bundle that another program loads.
        let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        let path = bundle.prefix(upTo: bundle.range(of: ".xctest")?.upperBound ?? bundle.endIndex)
        return URL(fileURLWithPath: String(path)).deletingLastPathComponent()
    }
}
