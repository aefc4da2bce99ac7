import Foundation
import RealtimePrimitives
import TestTraits
import Testing

@Suite("Explanations of data that does not fit a type", .limited) struct DecodingFailureTests {
    private struct Order: Decodable {
        struct Item: Decodable {
            var count: Int
            var place: URL
        }
        var items: [Item]
    }

    private struct Strict: Decodable {
        struct Failure: Error {}

        init(from decoder: any Decoder) throws { throw Failure() }
    }

    private func explanation<Value: Decodable>(of text: String, as type: Value.Type) -> String? {
        do {
            _ = try JSONDecoder().decode(type, from: Data(text.utf8))
            return nil
        } catch {
            return DecodingFailure.explanation(of: error)
        }
    }

    @Test(
        "an explanation names the place and the type, but no value",
        arguments: [
            (#"{"list":"hush"}"#, #"the member "items" is missing"#),
            (#"{"items":[{"count":1,"place":"a"},{}]}"#, #"the member "count" is missing at "items[1]""#),
            (#"{"items":[{"count":"hush"}]}"#, #"the value at "items[0].count" is not of the type 'Int'"#),
            (#"{"items":[{"count":1,"place":""}]}"#, #"the value at "items[0].place" is not valid"#),
            (#"{"items":[{"count":null}]}"#, #"the value of the type 'Int' at "items[0].count" is missing"#),
            ("hush", "the data is not valid"),
        ]
    )
    func places(text: String, expected: String) {
        #expect(explanation(of: text, as: Order.self) == expected)
    }

    @Test("of an error that the type throws itself, an explanation names only the type")
    func ownErrors() {
        #expect(explanation(of: "{}", as: Strict.self) == "decoding threw an error of the type 'Failure'")
    }
}
