import Dispatch
import Foundation

/// A receiver of the signals `SIGINT` (Control-C) and `SIGTERM`. If the command has not ended by itself five seconds
/// after a signal, the process exits with 128 plus the signal's number.
final class Interruption {
    /// The received signals. Only one task may iterate the sequence.
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
                // A command might never end by itself, for example if it waits for space in a full pipe.
                DispatchQueue.global().asyncAfter(deadline: .now() + 5) { _exit(128 + number) }
            }
            source.resume()
            return source
        }
    }
}
