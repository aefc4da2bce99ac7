import Workload

/// The command line, which has the measurement, and `name=value` for each setting.
struct Arguments: Sendable {
    let measurement: String
    private let values: [String: String]

    init(_ commandLine: [String] = CommandLine.arguments) {
        measurement = commandLine.dropFirst().first ?? ""
        values = commandLine.dropFirst(2).reduce(into: [:]) { values, argument in
            let parts = argument.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
    }

    /// The implementation: the client in one of its styles, or a reference.
    var implementation: String { values["via"] ?? "" }

    func number(_ name: String, default value: Int = 0) -> Int { values[name].flatMap { Int($0) } ?? value }

    /// The generator's address.
    var target: Target { Target(port: number("port"), useTLS: number("tls") == 1) }

    var kind: Workload.ChannelKind { values["kind"].flatMap { Workload.ChannelKind(rawValue: $0) } ?? .public }
}

/// The generator's address.
struct Target: Sendable {
    let host = "127.0.0.1"
    let port: Int
    let useTLS: Bool
}

/// A measurement that cannot be made.
struct SubjectError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
