import PusherProtocol
import TestTraits
import Testing

@Suite("Channel names", .limited)
struct ChannelNameTests {
    @Test(
        "The prefix determines the kind of channel",
        arguments: [
            ("orders", .public, false),
            ("cache-orders", .public, true),
            ("private-orders", .private, false),
            ("private-cache-orders", .private, true),
            ("private-encrypted-orders", .privateEncrypted, false),
            ("private-encrypted-cache-orders", .privateEncrypted, true),
            ("presence-orders", .presence, false),
            ("presence-cache-orders", .presence, true),
            // Names that consist of the prefix only.
            ("private-", .private, false), ("presence-cache-", .presence, true), ("cache-", .public, true),
            ("private-encrypted-", .privateEncrypted, false),
            // Names without a valid prefix. Prefixes are case-sensitive, complete, and in a fixed order.
            ("Private-orders", .public, false), ("PRESENCE-orders", .public, false),
            ("private-Cache-x", .private, false),
            ("private", .public, false), ("privateorders", .public, false), ("cache", .public, false),
            ("private-encrypted", .private, false), ("private-encryptedcache-x", .private, false),
            ("cache-private-orders", .public, true), ("encrypted-orders", .public, false),
            ("private-cache-encrypted-x", .private, true), ("presence-encrypted-x", .presence, false),
            ("my-private-orders", .public, false),
        ] as [(String, ChannelKind.Base, Bool)]
    )
    func kinds(name: String, base: ChannelKind.Base, isCache: Bool) throws {
        let kind = try ChannelName(name).kind
        #expect(kind == ChannelKind(base: base, isCache: isCache))
        #expect(kind.requiresAuthorization == (base != .public))
    }

    @Test("A name accepts only the allowed ASCII characters", arguments: UInt8(0)...0x7F)
    func characters(byte: UInt8) throws {
        let character = Character(Unicode.Scalar(byte))
        let allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=@,.;"
        if allowed.contains(character) {
            #expect(try ChannelName("a\(character)b").rawValue == "a\(character)b")
        } else {
            #expect(throws: ChannelName.ValidationError.invalidCharacter(character)) {
                try ChannelName("a\(character)b")
            }
        }
    }

    @Test(
        "The error gives the reason",
        arguments: [
            ("", .empty),
            ("#server-to-user-1", .reserved), ("#", .reserved),
            ("a#b", .invalidCharacter("#")), ("a b", .invalidCharacter(" ")), ("grüße", .invalidCharacter("ü")),
            ("a🚀", .invalidCharacter("🚀")), ("ae\u{301}", .invalidCharacter("e\u{301}")),
            ("a\r\nb", .invalidCharacter("\r\n")),
            (String(repeating: "a", count: 201), .tooLong(length: 201)),
            (String(repeating: "é", count: 101), .tooLong(length: 202)),
        ] as [(String, ChannelName.ValidationError)]
    )
    func errors(name: String, expected: ChannelName.ValidationError) {
        #expect(throws: expected) { try ChannelName(name) }
        #expect(!expected.description.isEmpty)
    }

    @Test(
        "A name can have up to 200 bytes, including its prefix",
        arguments: ["", "private-", "private-encrypted-cache-"]
    )
    func length(prefix: String) throws {
        let longest = prefix + String(repeating: "a", count: 200 - prefix.utf8.count)
        #expect(try ChannelName(longest).rawValue == longest)
        #expect(throws: ChannelName.ValidationError.tooLong(length: 201)) { try ChannelName(longest + "a") }
    }
}
