import Foundation
import PusherClient
import TestTraits
import Testing

@Suite("Members of presence channels", .limited)
struct PresenceMemberTests {
    struct Info: Codable, Equatable {
        var name: String
        var site = URL(string: "https://example.com/a")
    }

    @Test("a member keeps its information as JSON text")
    func texts() {
        let infos: [(Any?, String?)] = [
            (nil, nil), (["name": "Zoë"], #"{"name":"Zoë"}"#),
            (["b": 1, "a": [true, NSNull()]] as [String: Any], #"{"a":[true,null],"b":1}"#),
            ([1, 2], "[1,2]"), ("text", #""text""#), ("a/b\"", #""a/b\"""#), (5, "5"), (true, "true"),
            (NSNull(), "null"),
            (Info(name: "x"), #"{"name":"x","site":"https://example.com/a"}"#),
            ([Info(name: "x", site: nil)], #"[{"name":"x"}]"#),
        ]
        for (info, text) in infos {
            #expect(PusherPresenceChannelMember(userId: "1", userInfo: info).userInfoText == text)
        }
    }

    @Test("member information that JSON cannot represent counts as nil")
    func notJSON() {
        struct Opaque {}
        for info in [Opaque(), Double.nan, Double.infinity, ["a": Opaque()], [1: "a"] as [AnyHashable: Any], { 1 }]
            as [Any]
        {
            let member = PusherPresenceChannelMember(userId: "1", userInfo: info)
            #expect(member.userInfo == nil)
        }
    }

    @Test("userInfo returns the values that JSONSerialization reads from a member's information")
    func reading() throws {
        let member = PusherPresenceChannelMember(userId: "1", userInfo: ["name": "Zoë", "age": 5] as [String: Any])
        let info = try #require(member.userInfo as? [String: Any])
        #expect(info["name"] as? String == "Zoë")
        #expect(info["age"] as? Int == 5)
        #expect(PusherPresenceChannelMember(userId: "1", userInfo: "x").userInfo as? String == "x")
        #expect(PusherPresenceChannelMember(userId: "1", userInfoText: "null").userInfo == nil)
        #expect(PusherPresenceChannelMember(userId: "1", userInfoText: "broken").userInfo == nil)
        #expect(PusherPresenceChannelMember(userId: "1", userInfoText: nil).userInfo == nil)
        let deep = String(repeating: "[", count: 100_000)
        #expect(PusherPresenceChannelMember(userId: "1", userInfoText: deep).userInfo == nil)
    }

    @Test("an app can decode a member's information into a type")
    func decoding() throws {
        let info = Info(name: "Zoë")
        let member = PusherPresenceChannelMember(userId: "1", userInfo: info)
        #expect(try member.decodeUserInfo(as: Info.self) == info)
        let inferred: Info = try member.decodeUserInfo()
        #expect(inferred == info)
        #expect(throws: DecodingError.self) { try member.decodeUserInfo(as: Int.self) }
        let nobody = PusherPresenceChannelMember(userId: "1")
        #expect(throws: DecodingError.self) { try nobody.decodeUserInfo(as: Info.self) }
        #expect(try nobody.decodeUserInfo(as: Info?.self) == nil)
    }

    @Test("members are equal if their ids and information are equal")
    func equality() {
        let member = PusherPresenceChannelMember(userId: "1")
        let informed = PusherPresenceChannelMember(userId: "1", userInfo: ["age": 36])
        #expect(Set([member, PusherPresenceChannelMember(userId: "1")]).count == 1)
        #expect(Set([member, informed, PusherPresenceChannelMember(userId: "2")]).count == 3)
        #expect("\(member)" == "PusherPresenceChannelMember(1)")
    }
}
