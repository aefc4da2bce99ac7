import Dispatch
import Foundation

/// Control-C, and the system's request to terminate. The command ends itself. If it has not done so after five seconds,
/// the process exits with 128 plus the signal's number.
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
                // A full pipe without a reader can keep a command from ending.
                DispatchQueue.global().asyncAfter(deadline: .now() + 5) { _exit(128 + number) }
            }
            source.resume()
            return source
        }
    }
}
