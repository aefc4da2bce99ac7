package import RealtimeJSON
import RealtimeMessagePack
import RealtimePrimitives
package import SignalRCore

/// Encodes and decodes the app's types: arguments, items and results.
package struct HubCoder: Sendable {
    private enum Format: Sendable {
        /// The decoder is the app's; nil for our own.
        case json(JSONEncoder, JSONDecodingOptions, JSONDecoder?)
        case messagePack(MessagePackEncoder, MessagePackDecoder)
    }

    package let hubProtocol: HubProtocol
    private let format: Format

    package init(
        json encoder: JSONEncoder = Self.makeJSONEncoder(),
        _ options: JSONDecodingOptions = Self.defaultDecoding,
        _ decoder: JSONDecoder? = nil
    ) {
        hubProtocol = .json
        format = .json(encoder, options, decoder)
    }

    package init(messagePack keys: MessagePackKeys) {
        hubProtocol = .messagePack
        let strategy: MessagePackKeyStrategy =
            switch keys {
            case .asIs: .asIs
            case .pascalCase: .pascalCase
            case .custom(let key, let name): .custom(key: key, name: name)
            }
        format = .messagePack(MessagePackEncoder(keyStrategy: strategy), MessagePackDecoder(keyStrategy: strategy))
    }

    package func encode(_ value: some Encodable) throws -> EncodedValue {
        switch format {
        case .json(let encoder, _, _): [UInt8](try encoder.encode(value))[...]
        case .messagePack(let encoder, _): try encoder.encode(value)[...]
        }
    }

    package func decode<T: Decodable>(_ type: T.Type, from value: EncodedValue) throws -> T {
        switch format {
        case .json(_, let options, let decoder): try options.decode(type, from: value, with: decoder)
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

    package static func makeJSONEncoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            guard let text = ISO8601.text(date) else {
                let reason = "The date is not in the years 1 to 9999."
                throw EncodingError.invalidValue(
                    date,
                    EncodingError.Context(codingPath: encoder.codingPath, debugDescription: reason)
                )
            }
            try container.encode(text)
        }
        return encoder
    }

    package static let defaultDecoding = JSONDecodingOptions(dates: .iso8601WithFractions)
}
