package import RealtimeJSON
import RealtimeMessagePack
import RealtimePrimitives
package import SignalRCore

/// Encodes and decodes the app's types: arguments, items and results.
package struct HubCoder: Sendable {
    private enum Format: Sendable {
        /// The coders of Foundation are the app's; nil for our own.
        case json(JSONEncodingOptions, JSONEncoder?, JSONDecodingOptions, JSONDecoder?)
        case messagePack(MessagePackEncoder, MessagePackDecoder)
    }

    package let hubProtocol: HubProtocol
    private let format: Format

    package init(
        encoding: JSONEncodingOptions = Self.defaultEncoding,
        _ encoder: JSONEncoder? = nil,
        _ decoder: JSONDecoder? = nil,
        decoding: JSONDecodingOptions = Self.defaultDecoding
    ) {
        hubProtocol = .json
        format = .json(encoding, encoder, decoding, decoder)
    }

    package init(messagePack keys: MessagePackKeys, acceptsFloatsForIntegers: Bool = true) {
        hubProtocol = .messagePack
        let strategy: MessagePackKeyStrategy =
            switch keys {
            case .asIs: .asIs
            case .pascalCase: .pascalCase
            case .custom(let key, let name): .custom(key: key, name: name)
            }
        format = .messagePack(
            MessagePackEncoder(keyStrategy: strategy),
            MessagePackDecoder(keyStrategy: strategy, acceptsFloatsForIntegers: acceptsFloatsForIntegers)
        )
    }

    package func encode(_ value: some Encodable) throws -> EncodedValue {
        switch format {
        case .json(let options, let encoder, _, _): try options.encode(value, with: encoder)[...]
        case .messagePack(let encoder, _): try encoder.encode(value)[...]
        }
    }

    package func decode<T: Decodable>(_ type: T.Type, from value: EncodedValue) throws -> T {
        switch format {
        case .json(_, _, let options, let decoder): try options.decode(type, from: value, with: decoder)
        case .messagePack(_, let decoder): try decoder.decode(type, from: value)
        }
    }

    /// Decodes the result of a method.
    package func decode<T: Decodable>(_ type: T.Type, from outcome: HubOutcome) throws -> T {
        do {
            switch outcome {
            case .value(let value): return try decode(type, from: value)
            // Only an optional can represent a missing result.
            case .void, .error: return try decode(type, from: hubProtocol.null)
            }
        } catch {
            throw SignalRClientError(
                .decodingFailed,
                outcome == .void
                    ? "Result not decoded: the method returned no result, but '\(type)' was expected."
                    : "Result not decoded: it does not fit '\(type)', because \(DecodingFailure.explanation(of: error)).",
                cause: error
            )
        }
    }

    // MARK: JSON in the form of .NET

    package static let defaultEncoding = JSONEncodingOptions(dateText: { ISO8601.text($0) })
    package static let defaultDecoding = JSONDecodingOptions(dates: .iso8601WithFractions)
}
