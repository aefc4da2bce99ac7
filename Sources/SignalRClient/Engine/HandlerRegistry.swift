import NIOConcurrencyHelpers
import RealtimePrimitives
import SignalRCore

/// A handler of the app for a method.
struct Handler: Sendable {
    var id: UInt64
    /// Whether the next call can start before this call has ended.
    var isConcurrent: Bool
    /// Decodes the arguments, calls the app, and encodes the result. Returns `nil` for a handler without a result.
    var call: @Sendable ([EncodedValue]) async throws -> EncodedValue?
    /// A closure that the registry calls when it removes the handler.
    var onRemoval: @Sendable () -> Void
}

/// The calls of methods without a handler that arrived soon after the connection. They wait for a handler, so that an app
/// can register handlers after it has connected.
struct HeldInvocations: Sendable {
    static let maximumCount = 256
    static let maximumSize = 1_048_576

    /// In bytes of UTF-8.
    static let maximumCountedName = 200

    private var invocations: [(key: MethodName, invocation: HubInvocation, size: Int)] = []
    private var size = 0
    /// The numbers of calls that did not fit, by method. A server can call any number of methods with names of any
    /// length, so the number of entries and the length of their names have limits.
    private var dropped: [MethodName: Int] = [:]
    /// The number of calls that did not fit, and that ``dropped`` does not count.
    private(set) var droppedElsewhere = 0

    /// The numbers of calls that wait or did not fit, by method.
    var counts: [MethodName: Int] { invocations.reduce(into: dropped) { $0[$1.key, default: 0] += 1 } }

    /// Adds a call. The newest calls stay. One call always stays, even if it is larger than the limit.
    mutating func add(_ invocation: HubInvocation, key: MethodName, size: Int) {
        let size = size + key.text.utf8.count
        invocations.append((key, invocation, size))
        self.size += size
        while self.size > Self.maximumSize || invocations.count > Self.maximumCount, invocations.count > 1 {
            let oldest = invocations.removeFirst()
            self.size -= oldest.size
            let isCounted = dropped[oldest.key] != nil || dropped.count < Self.maximumCount
            if isCounted, oldest.key.text.utf8.count <= Self.maximumCountedName {
                dropped[oldest.key, default: 0] += 1
            } else {
                droppedElsewhere += 1
            }
        }
    }

    /// Removes and returns the calls of a method.
    mutating func take(_ key: MethodName) -> (invocations: [HubInvocation], droppedCount: Int) {
        let taken = invocations.filter { $0.key == key }
        if !taken.isEmpty { invocations.removeAll { $0.key == key } }
        size -= taken.reduce(0) { $0 + $1.size }
        return (taken.map(\.invocation), dropped.removeValue(forKey: key) ?? 0)
    }
}

/// The handlers of one connection.
final class HandlerRegistry: Sendable {
    private struct State {
        var handlers: [MethodName: [Handler]] = [:]
        var serial: UInt64 = 0
        /// The calls that wait for a handler; nil if calls do not wait.
        var held: HeldInvocations?
    }

    /// The handlers of a call.
    struct Lookup {
        var handlers: [Handler] = []
        /// Earlier calls that have waited for a handler.
        var earlier: [HubInvocation] = []
        /// The number of earlier calls that did not fit.
        var droppedCount = 0
        /// Whether the call waits for a handler.
        var isHeld = false
    }

    private let state = NIOLockedValueBox(State())

    func add(
        _ method: String,
        isConcurrent: Bool,
        _ call: @escaping @Sendable ([EncodedValue]) async throws -> EncodedValue?,
        onRemoval: @escaping @Sendable () -> Void = {}
    ) -> UInt64 {
        state.withLockedValue { state in
            state.serial += 1
            let handler = Handler(id: state.serial, isConcurrent: isConcurrent, call: call, onRemoval: onRemoval)
            state.handlers[MethodName(method), default: []].append(handler)
            return handler.id
        }
    }

    /// Removes handlers. The method releases the closures after it has unlocked the lock, because releasing a closure
    /// can run the app's `deinit` code.
    func remove(_ method: String, _ id: UInt64? = nil) {
        let key = MethodName(method)
        let removed = state.withLockedValue { state in
            let all = state.handlers[key] ?? []
            let rest = id.map { id in all.filter { $0.id != id } } ?? []
            state.handlers[key] = rest.isEmpty ? nil : rest
            return id.map { id in all.filter { $0.id == id } } ?? all
        }
        for handler in removed { handler.onRemoval() }
    }

    func removeAll() {
        let removed = state.withLockedValue { state in
            defer { state.handlers = [:] }
            return state.handlers
        }
        for handler in removed.values.joined() { handler.onRemoval() }
    }

    /// Returns the handlers of a method, and removes the calls that waited for them.
    ///
    /// - Parameters:
    ///   - invocation: A call. If the method has no handler, the call waits for one. A call with an id does not wait,
    ///     because the server waits for its result.
    ///   - size: The size of the call, in bytes.
    func lookUp(_ method: String, holding invocation: HubInvocation? = nil, size: Int = 0) -> Lookup {
        let key = MethodName(method)
        return state.withLockedValue { state in
            guard let handlers = state.handlers[key] else {
                guard let invocation, invocation.id == nil, state.held != nil else { return Lookup() }
                state.held?.add(invocation, key: key, size: size)
                return Lookup(isHeld: true)
            }
            let (earlier, droppedCount) = state.held?.take(key) ?? ([], 0)
            return Lookup(handlers: handlers, earlier: earlier, droppedCount: droppedCount)
        }
    }

    /// Whether calls wait for a handler.
    var isHolding: Bool { state.withLockedValue { $0.held != nil } }

    /// Makes calls wait for a handler.
    func hold() { state.withLockedValue { $0.held = $0.held ?? HeldInvocations() } }

    /// Drops the calls that wait. Later calls do not wait.
    ///
    /// - Returns: The numbers of dropped calls, by method, and the number of the calls that were not counted by method.
    func endHolding() -> (counts: [MethodName: Int], elsewhere: Int) {
        let held = state.withLockedValue { state in
            defer { state.held = nil }
            return state.held
        }
        return (held?.counts ?? [:], held?.droppedElsewhere ?? 0)
    }
}

/// Decodes arguments, one after the other.
struct ArgumentReader {
    private let arguments: [EncodedValue]
    private let coder: HubCoder
    private var index = 0

    init(_ arguments: [EncodedValue], count: Int, _ coder: HubCoder) throws {
        guard arguments.count == count else {
            throw SignalRClientError(
                .decodingFailed,
                "Handler not called: the invocation has \(arguments.count) arguments, and the handler takes \(count)."
            )
        }
        self.arguments = arguments
        self.coder = coder
    }

    mutating func next<T: Decodable>(_ type: T.Type) throws -> T {
        guard arguments.indices.contains(index) else { throw SignalRError.incompleteMessage }
        defer { index += 1 }
        do {
            return try coder.decode(type, from: arguments[index])
        } catch {
            throw SignalRClientError(
                .decodingFailed,
                "Argument \(index) not decoded: it does not fit '\(type)', because \(DecodingFailure.explanation(of: error)).",
                cause: error
            )
        }
    }
}
