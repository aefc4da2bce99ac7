import Foundation
import Workload

/// The failure of a process.
struct ProcessError: Error, CustomStringConvertible {
    let description: String
}

/// The generator, in a separate process. The process ends when its standard input ends.
struct GeneratorProcess {
    let port: Int
    /// 0 if there is no certificate.
    let tlsPort: Int
    private let process: Process
    private let input: Pipe

    init(folder: URL, certificate: (certificate: URL, key: URL)?) throws {
        process = Process()
        process.executableURL = folder.appendingPathComponent("Generator")
        process.arguments = certificate.map { [$0.certificate.path, $0.key.path] } ?? []
        input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let ports = line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        guard ports.count == 2 else {
            throw ProcessError(description: "the generator did not print its ports: \(line)")
        }
        (port, tlsPort) = (ports[0], ports[1])
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

/// Runs the subject, and reads its measurements.
struct SubjectLauncher {
    let folder: URL
    let generator: GeneratorProcess
    var patience = 120.0

    func values(of run: Run, under wrapper: [String] = []) throws -> [String: Double] {
        let usesTLS = run.settings["tls"] == 1
        let port = usesTLS ? generator.tlsPort : generator.port
        let started = MonotonicTime.nanoseconds
        let arguments = run.arguments + ["port=\(port)", "started=\(started)"]
        let subject = folder.appendingPathComponent("Subject").path
        if let (script, library) = Self.scripts[run.via] { return try node(script, library, arguments) }
        // The library is loaded only for runs that count allocations, because counting takes time.
        let counter = folder.appendingPathComponent("libAllocationCount.so").path
        let preload = run.countsAllocations ? ["LD_PRELOAD=\(counter)"] : []
        let output = try Self.run(wrapper + preload + [subject] + arguments, patience: patience)
        do {
            return try JSONDecoder().decode([String: Double].self, from: output)
        } catch {
            throw ProcessError(description: "\(run.arguments.joined(separator: " ")): the subject printed no result")
        }
    }

    /// The JavaScript clients that can be measured in node. The environment names their files.
    static var scripts: [String: (script: String, library: String)] {
        let environment = ProcessInfo.processInfo.environment
        let all = [(Run.pusherJS, "pusher-js.js", "PUSHER_JS"), (Run.signalRJS, "signalr-js.mjs", "SIGNALR_JS")]
        var scripts: [String: (script: String, library: String)] = [:]
        for (via, script, variable) in all {
            if let library = environment[variable], !library.isEmpty { scripts[via] = (script, library) }
        }
        return scripts
    }

    private func node(_ script: String, _ library: String, _ arguments: [String]) throws -> [String: Double] {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: script).path()
        let output = try Self.run(["node", path, library] + arguments, patience: patience)
        guard let values = try? JSONDecoder().decode([String: Double].self, from: output) else {
            throw ProcessError(description: "node printed no result")
        }
        return values
    }

    /// Runs a command, and returns its output. Throws an error if the command fails or exceeds the time limit.
    static func run(_ command: [String], patience: Double = 60) throws -> Data {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let end = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + patience, execute: end)
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        end.cancel()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw ProcessError(
                description: "\(command.joined(separator: " ")): ended with \(process.terminationStatus)"
            )
        }
        return data
    }
}
