import ServerSentEvents

/// The events of a stream, which a separate task collects.
final class Recording: Sendable {
    enum Element: Equatable, Sendable {
        case item(EventStreamItem)
        case end
        case failure(EventStreamError)
    }

    let stream: EventStream
    private let task: Task<Void, Never>
    private let elements: AsyncStream<Element>

    init(_ stream: EventStream) {
        self.stream = stream
        let (elements, continuation) = AsyncStream.makeStream(of: Element.self)
        self.elements = elements
        let items = stream.items
        task = Task {
            do throws(EventStreamError) {
                for try await item in items { continuation.yield(.item(item)) }
                continuation.yield(.end)
            } catch {
                continuation.yield(.failure(error))
            }
            continuation.finish()
        }
    }

    deinit { task.cancel() }

    func cancel() { task.cancel() }

    /// Returns the next element. Only one task may call the method.
    func next() async -> Element? { await elements.first { _ in true } }

    /// Returns the next event.
    func nextEvent() async -> ServerSentEvent? {
        while let element = await next() {
            if case .item(.event(let event)) = element { return event }
        }
        return nil
    }

    /// Returns the reason of the next loss, or the reason why the stream failed.
    func nextError() async -> EventStreamError? {
        while let element = await next() {
            switch element {
            case .item(.lost(let error)), .failure(let error): return error
            case .item, .end: break
            }
        }
        return nil
    }

    /// Returns the error that ends the stream, or `nil`.
    func end() async -> EventStreamError? {
        while let element = await next() {
            if case .failure(let error) = element { return error }
        }
        return nil
    }
}
