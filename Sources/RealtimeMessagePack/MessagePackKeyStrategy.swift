/// How the names of properties become the keys of maps. The keys of dictionaries do not change.
package enum MessagePackKeyStrategy: Sendable {
    case asIs
    /// `userName` becomes `UserName`, as .NET names its properties.
    case pascalCase
    /// The key for a name, and the name for a key.
    case custom(key: @Sendable (String) -> String, name: @Sendable (String) -> String)

    func key(for name: String) -> String {
        switch self {
        case .asIs: name
        case .pascalCase: name.prefix(1).uppercased() + name.dropFirst()
        case .custom(let key, _): key(name)
        }
    }

    /// The names that a key may have.
    func names(for key: String) -> [String] {
        switch self {
        case .asIs: [key]
        case .pascalCase: [key.prefix(1).lowercased() + key.dropFirst(), key]
        case .custom(_, let name): [name(key)]
        }
    }

    var isAsIs: Bool { if case .asIs = self { true } else { false } }
}

/// A dictionary whose keys are data, and not names of properties.
protocol StringKeyedDictionary {}
extension Dictionary: StringKeyedDictionary where Key == String {}

/// The key of an array's element, of a reference to a superclass, or of a dictionary's value.
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

/// The path to a value. It is a linked list, so that a deeper level needs no copy of it.
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
