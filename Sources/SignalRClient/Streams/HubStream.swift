import RealtimePrimitives
import SignalRCore

/// The items that a method of the server sends.
public protocol StreamResult<Element> {
    /// The type of the items.
    associatedtype Element

    /// The items, in order. The sequence throws if the method fails, or if the connection is lost.
    var stream: AsyncThrowingStream<Element, any Error> { get }

    /// Cancels the stream on the server, and ends ``stream``.
    func cancel() async
}

/// The items that a method of the server sends, in order.
///
/// Iterate the sequence once. The sequence throws if the method fails, if an item has another type, or if the
/// connection is lost. When the iteration stops early, because of a `break`, an error or a cancelled task, the client
/// cancels the stream on the server.
///
/// The client buffers items that you do not consume, up to ``HttpConnectionOptions/receiveBufferSize``. If more bytes
/// wait, the sequence throws an error with the code ``SignalRClientError/Code/receiveBufferFull``.
public struct HubStream<Element: Decodable & Sendable>: AsyncSequence, Sendable {
    let lease: StreamLease

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reading: StreamReading(lease)) }

    /// Cancels the stream on the server, and ends the iteration.
    public func cancel() { lease.cancel() }

    /// An iterator over the items.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let reading: StreamReading

        /// Returns the next item, or `nil` when the stream has ended or the task is cancelled.
        public mutating func next() async throws -> Element? { try await reading.lease.next(Element.self) }

        /// Returns the next item, or `nil` when the stream has ended or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            try await reading.lease.next(Element.self)
        }
    }
}

/// An object that keeps a stream open. The client cancels the call when the app releases the object.
final class StreamLease: Sendable {
    private let buffer: StreamBuffer
    private let coder: HubCoder
    private let onCancel: @Sendable () -> Void

    /// - Parameter onCancel: A closure that cancels the call, unless the call has ended.
    init(_ buffer: StreamBuffer, _ coder: HubCoder, onCancel: @escaping @Sendable () -> Void) {
        self.buffer = buffer
        self.coder = coder
        self.onCancel = onCancel
    }

    deinit { onCancel() }

    func cancel() {
        buffer.cancel()
        onCancel()
    }

    func next<Element: Decodable>(_ type: Element.Type) async throws -> Element? {
        guard let item = try await buffer.next() else {
            if Task.isCancelled { cancel() }
            return nil
        }
        do {
            return try coder.decode(type, from: item)
        } catch {
            cancel()
            throw SignalRClientError(
                .decodingFailed,
                "Item not decoded: it does not fit '\(type)', because \(DecodingFailure.explanation(of: error)).",
                cause: error
            )
        }
    }
}

/// An iteration of a stream. The client cancels the stream when the app releases the iteration.
private final class StreamReading: Sendable {
    let lease: StreamLease

    init(_ lease: StreamLease) { self.lease = lease }

    deinit { lease.cancel() }
}

/// A stream with the interface of Microsoft's client.
struct LeasedStreamResult<Element: Decodable & Sendable>: StreamResult, Sendable {
    let lease: StreamLease

    var stream: AsyncThrowingStream<Element, any Error> {
        AsyncThrowingStream { [lease] in try await lease.next(Element.self) }
    }

    func cancel() async { lease.cancel() }
}
