/// The rule that converts the names of properties to the keys of maps. The rule does not change the keys of
/// dictionaries.
package enum MessagePackKeyStrategy: Sendable {
    case asIs
    /// `userName` becomes `UserName`, like the properties of .NET.
    case pascalCase
    /// The first function returns the key for a name. The second function returns the name for a key.
    case custom(key: @Sendable (String) -> String, name: @Sendable (String) -> String)

    func key(for name: String) -> String {
        switch self {
        case .asIs: name
        case .pascalCase: name.prefix(1).uppercased() + name.dropFirst()
        case .custom(let key, _): key(name)
        }
    }

    /// Returns the names that a key may have.
    func names(for key: String) -> [String] {
        switch self {
        case .asIs: [key]
        case .pascalCase: [key.prefix(1).lowercased() + key.dropFirst(), key]
        case .custom(_, let name): [name(key)]
        }
    }
}

/// The meaning of the keys of a map.
enum MessagePackKeyMeaning {
    /// The keys are names of properties, so the strategy applies to them.
    case properties
    /// The keys are those of a dictionary.
    case dictionary

    init(of type: Any.Type) { self = type is any KeyedDictionary.Type ? .dictionary : .properties }
}

private protocol KeyedDictionary {}
extension Dictionary: KeyedDictionary where Key: CodingKeyRepresentable {}

/// The key of an array element, of a reference to a superclass, or of a dictionary value.
struct MessagePackKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    static let `super` = MessagePackKey(stringValue: "super")

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        self.intValue = intValue
        stringValue = "\(intValue)"
    }
}

/// The path to a value, as a linked list. With a list, a deeper level does not have to copy the path.
indirect enum MessagePackPath {
    case root
    case key(any CodingKey, in: MessagePackPath)

    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var path = self
        while case .key(let key, let parent) = path {
            keys.append(key)
            path = parent
        }
        return keys.reversed()
    }
}
