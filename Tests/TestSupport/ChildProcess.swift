package import Foundation
import NIOConcurrencyHelpers

/// A program in a separate process, usually a program of this package.
///
/// The class does not use Foundation's `Process`, which detects the end of a child with a socket. On Linux, all
/// children that start at the same time inherit this socket. `Process` therefore notices the end of a child only after
/// these children have ended too.
package final class ChildProcess: Sendable {
    /// The lines of the program's output.
    package let lines: AsyncStream<String>
    private let processID: pid_t
    /// Whether the process has ended. The value changes before the system may reuse the process id.
    private let isOver = NIOLockedValueBox(false)
    private let ended: AsyncStream<Int32>

    /// - Parameters:
    ///   - program: The name of a program of this package, or the path of another program.
    ///   - arguments: The program's arguments.
    ///   - showsErrors: Whether the lines include the program's standard error.
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
            // The process keeps its id until `waitpid` is called without WNOWAIT.
            var information = siginfo_t()
            while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            let status = isOver.withLockedValue { isOver in
                isOver = true
                var status: Int32 = 0
                while waitpid(processID, &status, 0) < 0, errno == EINTR {}
                return status
            }
            // As with the C macros, the result is the signal that ended the process, or the exit code.
            endContinuation.yield(status & 0x7F == 0 ? (status >> 8) & 0xFF : status & 0x7F)
            endContinuation.finish()
        }
    }

    deinit { send(SIGKILL) }

    /// Sends a signal. Does nothing if the process has ended.
    package func send(_ signal: Int32) {
        isOver.withLockedValue { isOver in
            if !isOver { kill(processID, signal) }
        }
    }

    /// Waits for the end and returns the exit code, or the signal that ended the process. Call this method only once.
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
        // Only one process starts at a time, so no child inherits the descriptors of another child.
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
        // A child that inherits NIO's sockets would keep a port in use after its listener has closed.
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

    /// The folder that contains the built tests and programs.
    package static var folder: URL {
        // The path of the test program, or of the bundle that another program loads.
        let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        let path = bundle.prefix(upTo: bundle.range(of: ".xctest")?.upperBound ?? bundle.endIndex)
        return URL(fileURLWithPath: String(path)).deletingLastPathComponent()
    }
}
