import SignalRCore

/// The arguments of a call. Streams are separate from the other arguments.
struct CallArguments: Sendable {
    var encoded: [EncodedValue] = []
    var uploads: [Upload] = []

    /// - Throws: ``SignalRClientError`` if the client cannot send an argument. The error's message contains the index
    ///   of the argument, which begins with 0.
    init(_ values: [any Sendable], _ coder: HubCoder) throws {
        for (index, value) in values.enumerated() {
            if let sequence = value as? any AsyncSequence {
                try Self.check(sequence, index)
                uploads.append(Upload(value, coder))
            } else if let value = value as? any Encodable {
                try add(value, index: index, coder)
            } else {
                throw Self.invalid(index, "a '\(type(of: value))' is neither Encodable nor an AsyncSequence.")
            }
        }
    }

    init() {}

    private static func check<S: AsyncSequence>(_ sequence: S, _ index: Int) throws {
        guard S.Element.self is any Encodable.Type else {
            throw invalid(index, "the elements of the sequence, '\(S.Element.self)', are not Encodable.")
        }
    }

    mutating func add(_ value: some Encodable, index: Int, _ coder: HubCoder) throws {
        do {
            encoded.append(try coder.encode(value))
        } catch {
            let reason = """
                encoding it threw an error of the type '\(type(of: error))'. Only the error's cause contains its text, \
                which may contain values.
                """
            throw Self.invalid(index, reason, cause: error)
        }
    }

    private static func invalid(_ index: Int, _ reason: String, cause: (any Error)? = nil) -> SignalRClientError {
        SignalRClientError(
            .encodingFailed,
            "Argument \(index) not sent: \(reason)",
            cause: cause ?? SignalRError.invalidDataType
        )
    }
}

/// A sequence of the app, whose elements the client sends to the server one by one.
struct Upload: Sendable {
    /// The sequence. At run time, code can check whether a value is a sequence, but not whether the value is Sendable.
    private let sequence: any Sendable
    private let coder: HubCoder

    init(_ sequence: any Sendable, _ coder: HubCoder) {
        self.sequence = sequence
        self.coder = coder
    }

    /// Calls the closure with each element, and returns at the end of the sequence.
    func run(_ send: (EncodedValue) async throws -> Void) async throws {
        guard let sequence = sequence as? any AsyncSequence else { return }
        try await iterate(sequence, send)
    }

    private func iterate(_ sequence: some AsyncSequence, _ send: (EncodedValue) async throws -> Void) async throws {
        var failure: (any Error)?
        for try await element in sequence {
            if let failure { throw failure }
            do {
                guard let element = element as? any Encodable else { throw SignalRError.invalidDataType }
                try await send(try coder.encode(element))
            } catch {
                // The loop continues in a cancelled task, because the app's sequence then ends and releases its
                // resources.
                failure = error
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        if let failure { throw failure }
    }
}
