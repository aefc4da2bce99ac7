import Foundation
import ServerSentEvents

/// The state of a screen in an app that uses Swift 6.
@MainActor
final class Feed {
    private(set) var lines: [String] = []
    private(set) var isConnected = false
    private let source: EventSource

    init(url: URL) { source = EventSource(url: url) }

    func start(isFinished: @escaping @MainActor @Sendable () -> Void) {
        source.onOpenOnMain { [weak self] in self?.isConnected = true }
        source.onMessageOnMain { [weak self] _, _, data in self?.lines.append(data ?? "") }
        source.onCompleteOnMain { [weak self] _, _, _ in
            self?.isConnected = false
            isFinished()
        }
        source.connect()
    }
}

/// A tool call of the Model Context Protocol, as in the documentation.
func callTool(_ call: [String: String], url: String) -> EventStream {
    var options = EventStreamOptions()
    options.reconnection = .resumable
    return EventStream(options: options) { attempt in
        let accept: HTTPHeaderFields = ["Accept": "application/json, text/event-stream"]
        return attempt.lastEventID.isEmpty
            ? try EventStreamRequest(url, headers: accept, json: call)
            : EventStreamRequest(url, headers: accept)
    }
}

/// A view model that shows the answer of a language model.
@MainActor
final class Assistant {
    struct Chunk: Decodable, Sendable {
        var text: String
    }

    private(set) var answer = ""
    private(set) var failure: String?

    func ask(_ question: String, url: String) async {
        do {
            let stream = EventStream(try EventStreamRequest(url, json: ["question": question]))
            for try await chunk in stream.events(as: Chunk.self, until: "[DONE]") { answer += chunk.text }
        } catch let error as EventStreamError {
            failure = error.httpStatus.map { "\($0): \(error.bodyText)" } ?? error.message
        } catch {
            failure = "\(error)"
        }
    }
}
