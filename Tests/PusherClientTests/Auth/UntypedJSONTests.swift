import Foundation
import PusherProtocol
import TestTraits
import Testing

@testable import PusherClient

@Suite("JSON text of untyped values", .limited)
struct UntypedJSONTests {
    struct Info: Encodable {
        var b = "a/b"
        var a = [1]
    }

    @Test("the JSON text has sorted keys and no escaped slashes")
    func texts() throws {
        #expect(try UntypedJSON.make(of: ["b": "a/b", "a": [1]] as [String: Any]) == #"{"a":[1],"b":"a/b"}"#)
        #expect(try UntypedJSON.make(of: Info()) == #"{"a":[1],"b":"a/b"}"#)
        #expect(try UntypedJSON.make(of: "a/b") == #""a/b""#)
        #expect(try UntypedJSON.make(of: 5) == "5")
        #expect(try UntypedJSON.make(of: NSNull()) == "null")
    }

    @Test("a value that JSON cannot represent causes an error instead of a crash")
    func notJSON() {
        struct Opaque {}
        for value in [Opaque(), Double.nan, [1: "a"] as [AnyHashable: Any], ["a": Opaque()], { 1 }] as [Any] {
            #expect(throws: (any Error).self) { try UntypedJSON.make(of: value) }
        }
    }

    @Test("a client event contains the same JSON text however the app encodes the data")
    func clientEvents() throws {
        let text = #"{"a":[1],"b":"a/b"}"#
        #expect(try ClientEventData.payload(of: Info() as Any, .json) == .json(text))
        let values: [String: Any] = ["b": "a/b", "a": [1]]
        #expect(try ClientEventData.payload(of: values as Any, .string) == .string(text))
    }

    @Test(
        "reads the values that JSONSerialization reads",
        arguments: [
            #"{"a":[1,-1,1.5,true,false,null,"x\n",18446744073709551615,1e2,1.0,0.1],"b":{"c":{}}}"#, #""text""#, "5",
            "null",
            "9223372036854775807", "-9223372036854775809", "12345678901234567.5", "[]", #"{"a":1,"a":2}"#, "-0.0",
        ]
    )
    func reading(text: String) throws {
        let expected = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        let value = try #require(UntypedJSON.value(of: text))
        #expect("\(type(of: value))" == "\(type(of: expected))")
        #expect([value] as NSArray == [expected] as NSArray)
    }

    @Test("returns nil for text that is not JSON", arguments: ["", "{", "[1,]", "1e400", "[1] x", "{a:1}"])
    func malformed(text: String) { #expect(UntypedJSON.value(of: text) == nil) }
}
