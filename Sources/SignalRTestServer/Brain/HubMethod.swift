import SignalRClient
import SignalRCore

/// A method of the hub.
struct HubMethod: Sendable {
    typealias Body = @Sendable (TestHubCall, [EncodedValue]) async throws -> HubOutcome

    /// The name, with the letters of the registration.
    var name: String
    /// Whether the method answers with items.
    var streams = false
    /// The number of streams that the caller uploads; `nil` for any number.
    var uploads: Int? = 0
    /// The number of arguments; `nil` if ``run`` checks it.
    var arguments: ClosedRange<Int>?
    /// Whether the method waits for earlier calls of the same connection.
    var isOrdered = true
    var run: Body
}

/// The error for arguments that do not fit a method.
struct BindingError: Error {
    /// ASP.NET Core's reason.
    var reason: String
    var cause: any Error
}

/// An error of a sequence whose items a method sends.
struct StreamError: Error {
    var cause: any Error
}

extension HubMethod {
    static func bind<each T: Decodable>(
        _ arguments: [EncodedValue],
        _ call: TestHubCall,
        as type: (repeat each T).Type
    ) throws -> (repeat each T) {
        do {
            return try HubConnection.decode(arguments, call.coder, as: type)
        } catch {
            var count = 0
            for _ in repeat (each T).self { count += 1 }
            throw BindingError(
                reason: arguments.count == count
                    ? "Error binding arguments. Make sure that the types of the provided values match the types of the hub method being invoked."
                    : wrongCount(arguments.count, expected: count),
                cause: error
            )
        }
    }

    /// ASP.NET Core's reason for a wrong number of arguments.
    static func wrongCount(_ count: Int, expected: Int) -> String {
        "Invocation provides \(count) argument(s) but target expects \(expected)."
    }

    /// Returns the outcome of a call, and the reason of a failure for the records.
    func outcome(_ call: TestHubCall, _ arguments: [EncodedValue], _ isDetailed: Bool) async -> (HubOutcome, String?) {
        do {
            let outcome = try await run(call, arguments)
            if case .error(let text) = outcome { return (outcome, text) }
            // As in ASP.NET Core, a method without a result returns null.
            return (outcome == .void && !streams ? .value(call.coder.hubProtocol.null) : outcome, nil)
        } catch let error as BindingError {
            let detail = isDetailed ? " InvalidDataException: \(error.reason)" : ""
            let text = "Failed to invoke '\(name)' due to an error on the server.\(detail)"
            return (.error(text), HubBrain.text(of: error.cause))
        } catch is CancellationError where streams {
            return (.void, nil)
        } catch {
            let cause = (error as? StreamError)?.cause ?? error
            if cause is CancellationError, streams { return (.void, nil) }
            let sentence =
                error is StreamError
                ? "An error occurred on the server while streaming results."
                : "An unexpected error occurred invoking '\(name)' on the server."
            let detail =
                switch cause {
                case let cause as HubError: " HubException: \(cause.message)"
                default: isDetailed ? " \(type(of: cause)): \(cause)" : ""
                }
            return (.error(sentence + detail), HubBrain.text(of: cause))
        }
    }
}

extension HubProtocol {
    /// Whether a MessagePack message has `nil` in the place of its header fields.
    func hasNilHeaders(_ frame: ArraySlice<UInt8>) -> Bool {
        guard self == .messagePack else { return false }
        let start = frame.prefix(3).map { $0 }
        return start.count == 3 && start[0] & 0xF0 == 0x90 && 1...5 ~= start[1] && start[2] == 0xC0
    }
}
