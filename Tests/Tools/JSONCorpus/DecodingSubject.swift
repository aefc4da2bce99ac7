import Foundation
package import RealtimeJSON

/// A type that both decoders decode, with a document that the type accepts.
package struct DecodingSubject: Sendable {
    package let name: String
    /// A document that the type accepts, as JSON text.
    package let sample: String
    private let ourOutcome: @Sendable (JSONDecodingOptions, [UInt8]) -> Outcome
    private let foundationsOutcome: @Sendable (JSONDecodingOptions, [UInt8]) -> Outcome
    private let hasDictionaries: Bool
    private let randomErrors: RandomErrors

    fileprivate init<Value: Decodable & SendableMetatype>(
        _ type: Value.Type,
        _ sample: String,
        _ canonical: @escaping @Sendable (Value) -> String = { "\($0)" }
    ) {
        name = "\(type)"
        self.sample = sample
        let isDictionary = name.contains("Dictionary") || ["AnyJSON", "Collections"].contains(name)
        hasDictionaries = isDictionary || ["Manual", "Late", "Camel"].contains(name)
        // `Manual` and `Late` ignore the errors of their dictionaries.
        randomErrors = isDictionary ? .anywhere : name == "Camel" ? .below("innerMap") : .nowhere
        ourOutcome = { options, text in Outcome { canonical(try options.decode(type, from: text[...])) } }
        foundationsOutcome = { options, text in
            Outcome { canonical(try options.foundationDecoder().decode(type, from: Data(text))) }
        }
    }

    /// Returns the difference between the two decoders; nil if there is none, or only one that
    /// ``JSONDecodingOptions`` lists.
    package func difference(_ options: JSONDecodingOptions, _ text: [UInt8]) -> String? {
        let ours = ourOutcome(options, text)
        guard !JSONDecoder.mayTrap(on: text[...]) else { return nil }
        let theirs = foundationsOutcome(options, text)
        guard ours != theirs, !ours.isLike(theirs, randomErrors) else { return nil }
        // With a key strategy, Foundation also decodes the values of repeated keys that it does not use.
        if case .value = ours, theirs.hasError, hasDictionaries, options.keys != .useDefaultKeys { return nil }
        return "\(name), \(options)\n    ours   \(ours)\n    theirs \(theirs)"
    }

    /// Whether our decoder decodes the text.
    package func isDecodable(_ options: JSONDecodingOptions, _ text: [UInt8]) -> Bool {
        if case .value = ourOutcome(options, text) { true } else { false }
    }
}

/// The values for which Foundation reports any of several errors, because it decodes the members of a dictionary in
/// random order.
private enum RandomErrors: Equatable {
    case anywhere, nowhere
    /// Those in the member of this name.
    case below(String)
}

/// The result of a decoder.
private enum Outcome: Equatable {
    /// The value as text, in which equal strings with different bytes differ.
    case value(String)
    /// The kind of an error, with its type or key, and the path.
    case error(kind: String, path: String, isUnexplained: Bool)

    init(_ body: () throws -> String) {
        do {
            let characters = try body().unicodeScalars.map {
                $0.isASCII ? String($0) : "<\(String($0.value, radix: 16))>"
            }
            self = .value(characters.joined())
        } catch let error as DecodingError {
            self = Self.outcome(error)
        } catch {
            self = .error(kind: "\(type(of: error))", path: "", isUnexplained: false)
        }
    }

    private static func outcome(_ error: DecodingError) -> Outcome {
        func outcome(_ kind: String, _ context: DecodingError.Context) -> Outcome {
            let isUnexplained =
                context.codingPath.isEmpty
                && ["was not valid JSON", "ISO8601"].contains { context.debugDescription.contains($0) }
            return .error(kind: kind, path: pathText(context.codingPath), isUnexplained: isUnexplained)
        }
        return switch error {
        case .typeMismatch(let type, let context): outcome("typeMismatch \(type)", context)
        case .valueNotFound(let type, let context): outcome("valueNotFound \(type)", context)
        case .keyNotFound(let key, let context): outcome("keyNotFound \(pathText([key]))", context)
        case .dataCorrupted(let context): outcome("dataCorrupted", context)
        @unknown default: .error(kind: "\(error)", path: "", isUnexplained: false)
        }
    }

    /// Whether a value was not decoded. ``Late`` shows such a value as a question mark.
    var hasError: Bool {
        switch self {
        case .value(let text): text.contains("\"?\"")
        case .error: true
        }
    }

    func isLike(_ theirs: Outcome, _ randomErrors: RandomErrors) -> Bool {
        guard case .error(let kind, let path, _) = self,
            case .error(let otherKind, let otherPath, let isUnexplained) = theirs
        else { return false }
        // Foundation's errors for wrong numbers, escapes and dates have no path.
        if kind == otherKind, path == otherPath || isUnexplained { return true }
        switch randomErrors {
        case .anywhere: return true
        case .below(let name): return path.contains(name) && (otherPath.contains(name) || isUnexplained)
        case .nowhere: return false
        }
    }
}

extension DecodingSubject {
    private static let person = #"{"name":"Ada","age":36,"email":"a@b","ok":true}"#

    /// Types that decode numbers only.
    package static let numbers: [DecodingSubject] = [
        .init(Int.self, "5"), .init(Int8.self, "5"), .init(Int32.self, "5"), .init(Int64.self, "5"),
        .init(UInt.self, "5"), .init(UInt16.self, "5"), .init(UInt64.self, "5"), .init(Decimal.self, "12.5"),
        .init(Double.self, "1.5") { "\($0) \($0.bitPattern)" }, .init(Float.self, "1.5") { "\($0) \($0.bitPattern)" },
        .init(Date.self, "1.5") { "\($0.timeIntervalSinceReferenceDate.bitPattern)" },
    ]

    /// Types that decode dates.
    package static let dates: [DecodingSubject] = [
        .init(Date.self, #""2026-11-28T09:30:00Z""#) { "\($0.timeIntervalSinceReferenceDate.bitPattern)" },
        .init([Date].self, #"["2026-11-28T09:30:00.5Z"]"#) { "\($0.map(\.timeIntervalSinceReferenceDate.bitPattern))" },
    ]

    /// All types.
    package static let all: [DecodingSubject] =
        numbers + dates + [
            .init(Person.self, person),
            .init(
                Team.self,
                #"{"id":5,"lead":\#(person),"people":[\#(person),\#(person)],"tags":["x"],"kind":"Green"}"#
            ),
            .init(
                Everything.self,
                #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":1.5,"l":2.5,"m":true,"n":"s"}"#
            ),
            .init(Strict.self, #"{"a":1,"b":2,"k":1.5,"l":2.5,"m":true,"n":"s"}"#),
            .init(Numbered.self, #"{"x":1,"y":[1,2],"1":1,"2":[3]}"#),
            .init(Unusual.self, #"{"K":1,"é":"e","a\"b\\c":2,"aVeryLongNameOfAKeyThatIsNotSmall":3,"":4}"#),
            .init(
                Camel.self,
                #"{"created_at":"x","a_very_long_name_of_a_key":5,"image_url":1,"_private_":2,"id":1,"nested_value":{"inner_map":{"a_b":1},"item_count":2}}"#
            ) {
                let map = $0.nestedValue?.innerMap.map(canonicalText)
                return """
                    \($0.createdAt) \(String(describing: $0.aVeryLongNameOfAKey)) \(String(describing: $0.imageURL)) \
                    \(String(describing: $0._private_)) \($0.id) \(String(describing: map)) \
                    \(String(describing: $0.nestedValue?.itemCount))
                    """
            },
            .init(
                Common.self,
                #"{"date":1.5,"data":"aGVsbG8=","url":"https://a.b/c?d","decimal":12.345,"id":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F"}"#
            ),
            .init(
                Collections.self,
                #"{"ints":[1,2],"doubles":[1.5,2],"strings":["a","b"],"bools":[true,false],"optionals":[1,null],"map":{"a":"b"},"numbers":{"a":1},"byNumber":{"1":"a"},"set":[1],"deep":[{"a":[1.5]}],"floats":[1.5],"bytes":[1,255],"shades":["red",1]}"#
            ) { $0.canonical },
            .init(Tree.self, #"{"value":1,"children":[{"value":2,"left":{"value":3}}],"left":null}"#) { $0.canonical },
            .init(AnyJSON.self, #"{"a":[1,2.5,null,true,"x"],"b":{"c":"d"}}"#) { $0.canonical },
            .init(
                Manual.self,
                #"{"n":null,"a":1,"d":2,"inner":{"b":"x","a":1},"list":[1,"x",null,true,[\#(person)],{"a":1}],"super":\#(person),"people":[\#(person)]}"#
            ) { "\($0.log)" },
            .init(Derived.self, #"{"b":"x","super":{"a":1}}"#) { $0.canonical },
            .init(Late.self, #"{"name":"Ada","age":36,"ok":true,"list":[1,"x",[2]]}"#) { $0.canonical },
            .init(Figure.self, #"{"circle":{"radius":1.5}}"#),
            .init(
                [Figure].self,
                #"[{"circle":{"radius":1.5}},{"named":{"_0":"x","size":2}},{"empty":{}},{"nested":{"inner":[1,2]}}]"#
            ),
            .init([Shade].self, #"["red","Green","blue"]"#), .init([Rank].self, "[0,1,2]"),
            .init(Bool.self, "true"), .init(String.self, #""text""#), .init(URL.self, #""https://a.b""#),
            .init(Data.self, #""aGVsbG8=""#), .init(UUID.self, #""E621E1F8-C36C-495A-93FC-0C247A3E6E5F""#),
            .init([Int].self, "[1,2,3]"), .init([Double].self, "[1,2.5]") { "\($0.map(\.bitPattern))" },
            .init([String].self, #"["a"]"#), .init([UInt8].self, "[1,2]"),
            .init([Float].self, "[1.5]") { "\($0.map(\.bitPattern))" }, .init([Bool].self, "[true]"),
            .init([Int?].self, "[1,null]"), .init([String: String].self, #"{"a":"b","c":"d"}"#) { canonicalText($0) },
            .init([String: Int].self, #"{"a":1}"#) { canonicalText($0) },
            .init([Int: Double].self, #"{"1":1.5}"#) { canonicalText($0) },
            .init([String: [Person]].self, #"{"a":[\#(person)]}"#) { canonicalText($0) }, .init(Int?.self, "5"),
            .init(String?.self, #""x""#), .init([[Int]].self, "[[1],[2,3]]"), .init(Range<Int>.self, "[1,5]"),
            .init(ContiguousArray<Int>.self, "[1,2]"), .init(Set<String>.self, #"["a","b"]"#) { "\($0.sorted())" },
            .init([Decimal].self, "[1.5]"), .init([URL].self, #"["a"]"#), .init([Data].self, #"["aGk="]"#),
        ] + wide

    private static var wide: [DecodingSubject] {
        guard #available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *) else { return [] }
        return [.init(Int128.self, "5"), .init(UInt128.self, "5")]
    }
}
