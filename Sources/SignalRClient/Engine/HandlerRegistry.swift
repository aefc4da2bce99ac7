import NIOConcurrencyHelpers
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

/// The handlers of one connection. As in .NET, names of methods are case-insensitive.
final class HandlerRegistry: Sendable {
    private struct State {
        var handlers: [String: [Handler]] = [:]
        var serial: UInt64 = 0
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
            state.handlers[method.lowercased(), default: []].append(handler)
            return handler.id
        }
    }

    /// Removes handlers. The method releases the closures after it has unlocked the lock, because releasing a closure
    /// can run the app's `deinit` code.
    func remove(_ method: String, _ id: UInt64? = nil) {
        let key = method.lowercased()
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

    func handlers(of method: String) -> [Handler] {
        state.withLockedValue { $0.handlers[method.lowercased()] ?? [] }
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
                "Argument \(index) not decoded: it does not fit '\(type)'. See the error's cause.",
                cause: error
            )
        }
    }
}
