import RealtimeMessagePack
package import SignalRCore

/// Encodes and decodes the app's types: arguments, items and results.
package struct HubCoder: Sendable {
    private enum Format: Sendable {
        case json(JSONEncoder, JSONDecoder)
        case messagePack(MessagePackEncoder, MessagePackDecoder)
    }

    package let hubProtocol: HubProtocol
    private let format: Format

    package init(json encoder: JSONEncoder, _ decoder: JSONDecoder) {
        hubProtocol = .json
        format = .json(encoder, decoder)
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
        case .json(let encoder, _): [UInt8](try encoder.encode(value))[...]
        case .messagePack(let encoder, _): try encoder.encode(value)[...]
        }
    }

    package func decode<T: Decodable>(_ type: T.Type, from value: EncodedValue) throws -> T {
        switch format {
        case .json(_, let decoder): try decoder.decode(type, from: Data(value))
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
                    : "Result not decoded: it does not fit '\(type)'. See the error's cause.",
                cause: error
            )
        }
    }

    // MARK: JSON in the form of .NET

    package static func makeJSONEncoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        }
        return encoder
    }

    package static func makeJSONDecoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            guard let date = date(text) else {
                throw DecodingError.dataCorruptedError(
                    in: container,
                    debugDescription: "The text is not a date of ISO 8601."
                )
            }
            return date
        }
        return decoder
    }

    /// Parses a date in the form of .NET, whose seconds have up to seven decimal digits. If the text has no time zone,
    /// the method uses UTC.
    private static func date(_ text: String) -> Date? {
        var whole = text
        var fraction = 0.0
        if let dot = text.firstIndex(of: ".") {
            let digits = text[text.index(after: dot)...].prefix { $0.isASCII && $0.isNumber }
            guard let value = Double("0.\(digits)") else { return nil }
            fraction = value
            whole.removeSubrange(dot..<digits.endIndex)
        }
        let hasZone = whole.hasSuffix("Z") || whole.dropFirst(19).contains { "+-".contains($0) }
        guard let date = try? Date(hasZone ? whole : whole + "Z", strategy: .iso8601) else { return nil }
        return date + fraction
    }
}
