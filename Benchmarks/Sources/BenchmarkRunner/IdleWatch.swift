import Foundation

/// Counts the returns of `epoll_wait` with strace, while connections are idle. If strace does not work, the results
/// contain the kernel's count of switches instead.
struct IdleWatch {
    static let title = "Idle connections: wake-ups of the process"

    let launcher: SubjectLauncher
    let seconds: Int
    let folder: URL

    func run() throws -> (suite: Suite, rounds: Rounds, note: String) {
        let client = Run("idle", via: "client", ["connections": 10, "seconds": seconds])
        let raw = Run("idle", via: "raw", ["connections": 10, "seconds": min(seconds, 10)])
        let hasStrace = (try? SubjectLauncher.run(["sh", "-c", "strace -o /dev/null true 2>/dev/null"])) != nil
        var values: [Run: [[String: Double]]] = [:]
        for run in [client, raw] {
            var result =
                hasStrace ? try traced(run, seconds: run.settings["seconds"] ?? seconds) : try launcher.values(of: run)
            for key in ["returns", "switches"] {
                result[key + "PerConnection"] = result[key].map { $0 / (result["connections"] ?? 1) }
            }
            values[run] = [result]
        }
        let key = hasStrace ? "returnsPerConnection" : "switchesPerConnection"
        let counted = hasStrace ? "returns of epoll_wait in event loops, by strace" : "threads that woke up"
        var rows = [
            // One timer for each connection may fire.
            Row(
                "client, \(seconds) s: \(counted), per connection",
                client.value(key),
                unit: .plain,
                must: 1,
                stretch: 0
            ),
            Row("bare NIO, \(min(seconds, 10)) s: \(counted), per connection", raw.value(key), unit: .plain),
        ]
        if hasStrace {
            rows += [
                Row(
                    "returns of epoll_wait in Dispatch's threads, per second: client",
                    client.value("ofDispatch"),
                    unit: .plain
                ),
                Row(
                    "returns of epoll_wait in Dispatch's threads, per second: bare NIO",
                    raw.value("ofDispatch"),
                    unit: .plain
                ),
            ]
        }
        let note =
            hasStrace
            ? "" : "  strace is missing or does not work. The rows show the kernel's count of switches instead."
        return (Suite(name: Self.title, rounds: 1, rows: rows), Rounds(values), note)
    }

    private func traced(_ run: Run, seconds: Int) throws -> [String: Double] {
        let log = folder.appendingPathComponent("benchmark-strace.log")
        let wrapper = ["strace", "-f", "-ttt", "-e", "trace=epoll_wait,epoll_pwait,epoll_pwait2", "-o", log.path]
        var result = try launcher.values(of: run, under: wrapper)
        guard let from = result["from"], let end = result["to"] else { return result }
        let text = try String(contentsOf: log, encoding: .utf8)
        let inWindow = text.split(separator: "\n").filter { line in
            // A line contains the thread, the time, and a whole call, or the beginning or end of a call. The beginning has
            // no result.
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count > 2, let time = Double(fields[1]), line.contains(" = "), !line.hasSuffix("= ?") else {
                return false
            }
            return time > from && time < end - 0.05
        }
        // In every process that has run a task, Dispatch checks its threads once per second. Dispatch requests 16
        // events at a time, and an event loop requests 64.
        let ofDispatch = inWindow.filter { $0.contains(", 16, ") }
        result["returns"] = Double(inWindow.count - ofDispatch.count)
        result["ofDispatch"] = Double(ofDispatch.count) / Double(seconds)
        return result
    }
}
