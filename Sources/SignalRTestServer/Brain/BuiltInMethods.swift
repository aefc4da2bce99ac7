import SignalRClient
import SignalRCore

/// The methods that every test hub has.
enum BuiltInMethods {
    private static let streams: Set<String> = ["counter", "counter_fail", "echo_stream"]
    /// The names, and the numbers of arguments.
    private static let methods: [String: ClosedRange<Int>] = [
        "slow": 1...1, "add_stream": 0...0, "ask_me": 1...Int.max, "echo": 1...1, "add": 2...2, "nothing": 0...0,
        "null": 0...0, "fail": 1...1, "crash": 0...0, "broadcast": 2...2, "call_me": 1...Int.max, "headers": 0...0,
        "connection_id": 0...0, "close_me": 2...2, "drop_me": 0...0, "counter": 1...2, "counter_fail": 1...2,
        "echo_stream": 0...0,
    ]

    /// Returns the built-in method with this name, in lower case.
    static func method(_ name: String) -> HubMethod? {
        guard let arguments = methods[name] else { return nil }
        return HubMethod(
            name: name,
            streams: streams.contains(name),
            uploads: name == "add_stream" || name == "echo_stream" ? 1 : 0,
            arguments: arguments,
            isOrdered: false,
            run: body(name) ?? { _, _ in .void }
        )
    }

    /// Returns the body of a method that runs asynchronously.
    static func body(_ name: String) -> HubMethod.Body? {
        switch name {
        case "slow":
            { call, arguments in
                let seconds = try call.coder.decode(Double.self, from: arguments.element(0))
                try await Task.sleep(for: Duration(clampingSeconds: seconds))
                return .value(try call.coder.encode("done"))
            }
        case "add_stream":
            { call, _ in
                var sum = 0
                for try await item in call.upload(0, of: Int.self) { sum += item }
                return .value(try call.coder.encode(sum))
            }
        case "ask_me":
            { call, arguments in
                let method = try call.coder.decode(String.self, from: arguments.element(0))
                return try await call.connection.invoke(method, Array(arguments.dropFirst()))
            }
        case "counter", "counter_fail":
            { call, arguments in
                let count = try call.coder.decode(Int.self, from: arguments.element(0))
                let delay = arguments.count > 1 ? try call.coder.decode(Double.self, from: arguments[1]) : 0
                for number in 0..<max(count, 0) {
                    try Task.checkCancellation()
                    await call.item(try call.coder.encode(number))
                    if delay > 0 { try await Task.sleep(for: Duration(clampingSeconds: delay)) }
                }
                if name == "counter_fail" { throw StreamError(cause: HubError("Ran out of data!")) }
                return .void
            }
        case "echo_stream":
            { call, _ in
                do {
                    for try await item in call.upload(0) { await call.item(item) }
                } catch {
                    throw StreamError(cause: error)
                }
                return .void
            }
        default: nil
        }
    }
}

extension HubBrain {
    /// Runs the built-in method if it completes at once. Returns `false` if the caller must still handle the
    /// invocation.
    func answerAtOnce(_ invocation: HubInvocation, from connection: ServerConnection) -> Bool {
        guard let coder = connection.coder else { return true }
        let name = invocation.target.lowercased()
        guard BuiltInMethods.body(name) == nil else { return false }
        let arguments = invocation.arguments
        let null = HubOutcome.value(coder.hubProtocol.null)
        do {
            switch name {
            case "echo": complete(invocation, .value(try arguments.element(0)), connection)
            case "add":
                let sum = try coder.decode(Int.self, from: arguments.element(0)).addingReportingOverflow(
                    coder.decode(Int.self, from: arguments.element(1))
                )
                complete(invocation, .value(try coder.encode(sum.partialValue)), connection)
            case "nothing", "null": complete(invocation, null, connection)
            case "fail":
                let text = try coder.decode(String.self, from: arguments.element(0))
                let sentence = "An unexpected error occurred invoking 'fail' on the server. HubException: \(text)"
                fail(invocation, sentence, connection)
            case "crash": fail(invocation, "An unexpected error occurred invoking 'crash' on the server.", connection)
            case "broadcast":
                let method = try coder.decode(String.self, from: arguments.element(0))
                for other in connections.values where other.coder?.hubProtocol == coder.hubProtocol {
                    transmit(
                        .invocation(HubInvocation(target: method, arguments: [try arguments.element(1)])),
                        to: other
                    )
                }
                complete(invocation, null, connection)
            case "call_me":
                let method = try coder.decode(String.self, from: arguments.element(0))
                let values = Array(arguments.dropFirst())
                transmit(.invocation(HubInvocation(target: method, arguments: values)), to: connection)
                complete(invocation, null, connection)
            case "headers": complete(invocation, .value(try coder.encode(connection.headers)), connection)
            case "connection_id": complete(invocation, .value(try coder.encode(connection.id)), connection)
            case "close_me":
                let error = try coder.decode(String?.self, from: arguments.element(0))
                close(connection, error: error, allowReconnect: try coder.decode(Bool.self, from: arguments.element(1)))
            case "drop_me": connection.link?.drop()
            default: return false
            }
        } catch {
            let sentence = "Failed to invoke '\(name)' due to an error on the server."
            fail(invocation, sentence, because: Self.text(of: error), connection)
        }
        return true
    }
}

extension [EncodedValue] {
    func element(_ index: Int) throws -> EncodedValue {
        guard indices.contains(index) else { throw HubError("The argument \(index) is missing.") }
        return self[index]
    }
}
