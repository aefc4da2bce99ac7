import Foundation
import Workload

/// The measured process: makes one measurement of one implementation, prints it as a line of JSON, and ends.
@main
enum Subject {
    static func main() async {
        OpenFiles.raiseLimit()
        let arguments = Arguments()
        do {
            let result = try await measure(arguments)
            print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("\(arguments.measurement): \(error)\n".utf8))
            exit(1)
        }
    }

    private static func measure(_ arguments: Arguments) async throws -> [String: Double] {
        switch arguments.measurement {
        case "flood": try await Flood(arguments).run()
        case "presence-storm": try await PresenceStorm(arguments: arguments).run()
        case "subscribe": try await Subscribing(arguments, losses: 0).run()
        case "resubscribe": try await Subscribing(arguments, losses: arguments.number("losses", default: 10)).run()
        case "authorize": try await Authorizing(arguments: arguments).run()
        case "latency": try await Latency(arguments: arguments).run()
        case "client-events": try await ClientEvents(arguments: arguments).run()
        case "cold-start": try await ColdStart(arguments: arguments).run()
        case "memory-connections", "memory-channels", "memory-members": try await Memory(arguments: arguments).run()
        case "idle": try await Idle(arguments: arguments).run()
        case "slow-consumer": try await SlowConsumer(arguments: arguments).run()
        case "event-stream": try await EventStreams(arguments: arguments).run()
        case "hub-received": try await HubMessages(arguments: arguments).received()
        case "hub-invoked": try await HubMessages(arguments: arguments).invoked()
        case "hub-uploaded": try await HubMessages(arguments: arguments).uploaded()
        case "decode", "decode-value", "encode-value", "decrypt": try Decoding(arguments: arguments).run()
        default: throw SubjectError("unknown measurement")
        }
    }
}
