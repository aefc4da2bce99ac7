/// The kind of a channel, by the prefix of its name (protocol clause 5).
package struct ChannelKind: Hashable, Sendable {
    package enum Base: Hashable, Sendable, CaseIterable {
        case `public`
        case `private`
        case privateEncrypted
        case presence

        package var prefix: String {
            switch self {
            case .public: ""
            case .private: "private-"
            case .privateEncrypted: "private-encrypted-"
            case .presence: "presence-"
            }
        }
    }

    package var base: Base
    /// Whether the server replays the last event to a new subscriber.
    package var isCache: Bool

    package init(base: Base, isCache: Bool) {
        self.base = base
        self.isCache = isCache
    }

    /// Reads the kind from a name. Prefixes are case-sensitive. The method tests the longest prefix first, because
    /// `private-encrypted-` begins with `private-`.
    package init(ofChannelNamed name: String) {
        let bases: [Base] = [.privateEncrypted, .presence, .private]
        let base = bases.first { name.utf8.starts(with: $0.prefix.utf8) } ?? .public
        let rest = name.utf8.dropFirst(base.prefix.utf8.count)
        self.init(base: base, isCache: rest.starts(with: "cache-".utf8))
    }

    package var requiresAuthorization: Bool { base != .public }
}

/// A channel name that follows the server's rules.
package struct ChannelName: Hashable, Sendable {
    /// The maximum length of a name, including the prefix. The hosted service's documentation says 164, but every
    /// server accepts 200.
    package static let maximumLength = 200
    /// The prefix of the name of a user's own channel, before the user's id.
    package static let serverToUserPrefix = "#server-to-user-"

    package let rawValue: String
    package let kind: ChannelKind

    package enum ValidationError: Error, Equatable, Sendable {
        case empty
        case tooLong(length: Int)
        case invalidCharacter(Character)
        /// Names that start with `#` are reserved for the server.
        case reserved
    }

    package init(_ name: String) throws(ValidationError) {
        guard !name.isEmpty else { throw .empty }
        guard name.utf8.first != UInt8(ascii: "#") else { throw .reserved }
        let length = name.utf8.count
        guard length <= Self.maximumLength else { throw .tooLong(length: length) }
        if !name.utf8.allSatisfy(Self.isAllowed) {
            throw .invalidCharacter(name.first { !$0.utf8.allSatisfy(Self.isAllowed) } ?? "?")
        }
        self.rawValue = name
        self.kind = ChannelKind(ofChannelNamed: name)
    }

    /// Returns whether a name may contain the byte.
    package static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "="),
            UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: "."), UInt8(ascii: ";"):
            true
        default:
            false
        }
    }
}

extension ChannelName.ValidationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty:
            "it is empty"
        case .tooLong(let length):
            "it has \(length) bytes, and at most \(ChannelName.maximumLength) are allowed"
        case .invalidCharacter(let character):
            "\(String(reflecting: character)) is not one of A-Z a-z 0-9 _ - = @ , . ;"
        case .reserved:
            "names that start with '#' are reserved for the server"
        }
    }
}
