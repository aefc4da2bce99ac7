import JSONCorpus
import RealtimeJSON

/// Checks that the JSON decoder agrees with Foundation's decoder.
///
/// Input: a byte for the options, a byte for the type, and the text.
enum DecodingTarget {
    private static let dates: [JSONDecodingOptions.DateStrategy] = [
        .deferredToDate, .secondsSince1970, .millisecondsSince1970, .iso8601, .iso8601WithFractions,
    ]

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let choice = Int(reader.byte())
        let options = JSONDecodingOptions(
            keys: choice & 1 == 0 ? .useDefaultKeys : .convertFromSnakeCase,
            dates: dates[choice / 2 % dates.count]
        )
        let subject = DecodingSubject.all[Int(reader.byte()) % DecodingSubject.all.count]
        let text = reader.remaining()
        // Foundation reads other encodings, and rejects some zeros.
        let mayBeEncoded = text.prefix(4).contains { $0 == 0 || $0 >= 0xEF }
        guard !mayBeEncoded, !JSONCorpus.hasZeroWithExponent(text) else {
            _ = subject.isDecodable(options, text)
            return
        }
        let difference = subject.difference(options, text)
        require(difference == nil, "\(difference ?? "") for \(text.text)")
    }
}
