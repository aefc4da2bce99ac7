/// The options of the JSON decoder that this package uses unless you pass a `JSONDecoder`.
///
/// The decoder does the same as a new `JSONDecoder`, but several times as fast. It differs in these points:
///
/// | | this decoder | a new `JSONDecoder` |
/// |---|---|---|
/// | encoding of the text | UTF-8, with or without a byte order mark | also UTF-16 and UTF-32 |
/// | text of 256 MiB or more | `dataCorrupted` | no limit |
/// | number beyond the exact integers that has more than 128 decimal places, for an integer | `dataCorrupted` | ends the process on Linux |
/// | zero with an exponent, such as `0e5`, for a floating-point number | 0 | an error on Linux, depending on the length |
/// | number that does not fit into its type, string with an invalid escape | `dataCorrupted` with the value's coding path | on Linux, `dataCorrupted` without a path |
/// | error's descriptions | may differ, and contain no data | |
/// | error that is reported if a dictionary has several wrong values | the first one in the text | a random one |
/// | repeated key of a dictionary, with ``KeyStrategy/convertFromSnakeCase`` | only the first value is decoded | all values are decoded, and the first one counts |
/// | order of a keyed container's `allKeys` | the order of the text | random |
/// | key of a dictionary or of `superDecoder()` in a coding path | a type of this package, with the same strings and integers | a type of the standard library |
/// | two containers with different types of keys for the same object | coding paths have the keys of the later type | each has its own keys |
/// | `DecodableWithConfiguration`, strategies for data and floating-point numbers, JSON5, `userInfo` | not supported; pass a `JSONDecoder` | supported |
/// | type of keys that takes one byte, and whose `stringValue` changes between calls | the first string counts | each string counts |
public struct JSONDecodingOptions: Hashable, Sendable {
    /// The rule for the names of members.
    public enum KeyStrategy: Hashable, Sendable {
        /// The names in the text are the names of the keys.
        case useDefaultKeys
        /// `created_at` in the text becomes `createdAt`, by the rules of `JSONDecoder`'s strategy of this name. The keys
        /// of dictionaries do not change.
        case convertFromSnakeCase
    }

    /// The form of dates.
    public enum DateStrategy: Hashable, Sendable {
        /// A number of seconds since the beginning of 2001, as `Date` itself decodes.
        case deferredToDate
        /// A number of seconds since the beginning of 1970.
        case secondsSince1970
        /// A number of milliseconds since the beginning of 1970.
        case millisecondsSince1970
        /// A text such as `2026-11-28T09:30:00Z`. The text has no fractions of a second.
        case iso8601
        /// A text of ISO 8601 with or without fractions of a second. If it has no time zone, the time is in UTC. .NET
        /// and Laravel write dates in this form.
        case iso8601WithFractions
    }

    /// The rule for the names of members. Default: ``KeyStrategy/useDefaultKeys``.
    public var keys: KeyStrategy
    /// The form of dates. Default: ``DateStrategy/deferredToDate``.
    public var dates: DateStrategy
    /// Whether a number with a point or an exponent fits an integer if its value is whole.
    package var acceptsFractionsForIntegers = true

    /// Creates options.
    public init(keys: KeyStrategy = .useDefaultKeys, dates: DateStrategy = .deferredToDate) {
        self.keys = keys
        self.dates = dates
    }
}
