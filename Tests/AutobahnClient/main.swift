import Foundation

let usage = "usage: autobahn-client ws://HOST:PORT [--agent NAME] [--case-seconds N]"
var arguments = Array(CommandLine.arguments.dropFirst())
guard let address = arguments.first, let url = URL(string: address), let client = AutobahnClient(url) else {
    FileHandle.standardError.write(Data((usage + "\n").utf8))
    exit(2)
}
arguments.removeFirst()
var agent = "PusherClient"
var secondsPerCase = 60
while let option = arguments.first {
    arguments.removeFirst()
    switch (option, arguments.first) {
    case ("--agent", let name?): agent = name
    case ("--case-seconds", let text?) where Int(text) != nil: secondsPerCase = Int(text) ?? secondsPerCase
    default:
        FileHandle.standardError.write(Data((usage + "\n").utf8))
        exit(2)
    }
    arguments.removeFirst()
}

do {
    let failures = try await client.run(agent: agent, secondsPerCase: secondsPerCase)
    for failure in failures { print(failure) }
    exit(failures.isEmpty ? 0 : 1)
} catch {
    FileHandle.standardError.write(Data("autobahn-client: \(error)\n".utf8))
    exit(1)
}
