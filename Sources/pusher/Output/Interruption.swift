import Dispatch
import Foundation

/// Control-C, and the system's request to end. The command ends itself; if it has not after five seconds, the process
/// exits, with 128 and the signal's number as its code.
final class Interruption {
    /// Has an element for each signal. For one task.
    let received: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        received = stream
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                continuation.yield()
                // A pipe that is full, and that nobody reads, can keep a command from ending.
                DispatchQueue.global().asyncAfter(deadline: .now() + 5) { _exit(128 + number) }
            }
            source.resume()
            return source
        }
    }
}
