import Foundation
import Workload

/// Makes all measurements, prints most of them with ratios to references of the same run, and stores them as JSON.
///
/// `--quick` makes fewer and shorter measurements. `--check` only checks that each measurement can be made. `--output
/// FILE` is the file to write. `--only TEXT` leaves out the tables whose title does not contain the text. `--rounds
/// COUNT` changes the number of rounds.
@main
enum BenchmarkRunner {
    static func main() throws {
        let options = Options(CommandLine.arguments)
        let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let certificate = Certificate.make(in: folder)
        let hasMemory = FileManager.default.fileExists(atPath: "/proc/self/smaps_rollup")
        if options.extent == .check, certificate == nil {
            throw ProcessError(description: "openssl is missing, and the certificate needs it")
        }
        if certificate == nil { print("openssl is missing: the rows about wss are left out.\n") }
        if !hasMemory {
            print("The kernel does not report the memory of a process: the rows about memory are left out.\n")
        }
        if SubjectLauncher.scripts[Run.pusherJS] == nil {
            print("PUSHER_JS does not name the file of pusher-js for node: the rows about pusher-js are left out.\n")
        }
        if SubjectLauncher.scripts[Run.signalRJS] == nil {
            print("SIGNALR_JS does not name a node_modules folder: the rows about SignalR in node are left out.\n")
        }
        let generator = try GeneratorProcess(folder: folder, certificate: certificate)
        defer { generator.stop() }
        let launcher = SubjectLauncher(folder: folder, generator: generator)
        let plan = Plan(
            extent: options.extent,
            hasTLS: generator.tlsPort != 0,
            hasMemory: hasMemory,
            scripts: Set(SubjectLauncher.scripts.keys)
        )
        var report = Report(options.extent)
        for suite in plan.suites where options.wants(suite.name) {
            try report.add(
                suite,
                Rounds(suite, count: options.rounds ?? suite.rounds, launcher)
            )
        }
        if options.wants(IdleWatch.title) {
            let seconds = options.extent.choose(60, quick: 5, check: 1)
            try report.add(IdleWatch(launcher: launcher, seconds: seconds, folder: folder).run())
        }
        try report.finish(writingTo: options.output ?? folder.appendingPathComponent("benchmark-results.json"))
    }
}

private struct Options {
    var extent = Extent.full
    var output: URL?
    var only: String?
    var rounds: Int?

    init(_ arguments: [String]) {
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": extent = .quick
            case "--check": extent = .check
            case "--output": output = rest.popFirst().map { URL(fileURLWithPath: $0) }
            case "--only": only = rest.popFirst()
            case "--rounds": rounds = rest.popFirst().flatMap { Int($0) }
            default:
                FileHandle.standardError.write(Data("Unknown option \"\(argument)\".\n".utf8))
                exit(2)
            }
        }
    }

    func wants(_ title: String) -> Bool { only.map { title.localizedCaseInsensitiveContains($0) } ?? true }
}

/// A certificate for this machine only. OpenSSL creates the certificate if it does not exist.
private enum Certificate {
    static func make(in folder: URL) -> (certificate: URL, key: URL)? {
        let certificate = folder.appendingPathComponent("benchmark-certificate.pem")
        let key = folder.appendingPathComponent("benchmark-key.pem")
        if FileManager.default.fileExists(atPath: certificate.path) { return (certificate, key) }
        let command = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
            "3650",
            "-subj", "/CN=localhost", "-keyout", key.path, "-out", certificate.path,
        ]
        guard (try? SubjectLauncher.run(["sh", "-c", #"exec "$@" 2>/dev/null"#, "sh"] + command)) != nil else {
            return nil
        }
        return (certificate, key)
    }
}
