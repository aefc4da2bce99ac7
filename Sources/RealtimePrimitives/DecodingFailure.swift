/// Says in words why data does not fit a type.
package enum DecodingFailure {
    /// Returns the rest of a sentence such as "it does not fit 'Order': …". The text contains names of members, but no
    /// values, because it appears in logs.
    package static func explanation(of error: any Error) -> String {
        switch error as? DecodingError {
        case .keyNotFound(let key, let context):
            "the member \(key.stringValue.quoted) is missing\(place(context.codingPath))"
        case .typeMismatch(let type, let context):
            "the value\(place(context.codingPath)) is not of the type '\(type)'"
        case .valueNotFound(let type, let context):
            "the value of the type '\(type)'\(place(context.codingPath)) is missing"
        case .dataCorrupted(let context) where context.codingPath.isEmpty: "the data is not valid"
        case .dataCorrupted(let context): "the value\(place(context.codingPath)) is not valid"
        case nil: "decoding threw an error of the type '\(type(of: error))'"
        @unknown default: "the data does not fit"
        }
    }

    private static func place(_ path: [any CodingKey]) -> String {
        guard !path.isEmpty else { return "" }
        let place = path.reduce("") { place, key in
            if let index = key.intValue { return "\(place)[\(index)]" }
            return place.isEmpty ? key.stringValue : "\(place).\(key.stringValue)"
        }
        return " at \(place.quoted)"
    }
}
