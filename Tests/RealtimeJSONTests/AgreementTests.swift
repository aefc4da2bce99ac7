import Foundation
import JSONCorpus
import RealtimeJSON
import TestTraits
import Testing

@Suite("JSON decoder, compared with Foundation's", .limited)
struct AgreementTests {
    /// The number of documents. `make test` compares 5,000, and the nightly run of CI compares more.
    private static let count = ProcessInfo.processInfo.environment["JSON_CASES"].flatMap { Int($0) } ?? 5000

    @Test("has the same values, errors and coding paths for random documents")
    func randomDocuments() {
        var corpus = JSONCorpus(seed: 1)
        let comparison = corpus.compare(count: max(Self.count / 3, 1))
        #expect(comparison.differences == [])
        // Without many values, the comparison would say little.
        #expect(comparison.valueCount > comparison.caseCount / 8 / 5)
    }

    @Test("decodes the sample of each type", arguments: DecodingSubject.all.indices)
    func samples(index: Int) {
        let subject = DecodingSubject.all[index]
        let dates: JSONDecodingOptions.DateStrategy =
            subject.sample.contains("T09") ? .iso8601WithFractions : .deferredToDate
        let keys: JSONDecodingOptions.KeyStrategy = subject.name == "Camel" ? .convertFromSnakeCase : .useDefaultKeys
        let options = JSONDecodingOptions(keys: keys, dates: dates)
        #expect(subject.isDecodable(options, Array(subject.sample.utf8)), "\(subject.name)")
        #expect(subject.difference(options, Array(subject.sample.utf8)) == nil)
    }
}
