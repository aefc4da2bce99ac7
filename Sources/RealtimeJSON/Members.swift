import CRealtimeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The look-up of an object's members for the app's keys.
extension Tape {
    @inline(__always) var convertsKeys: Bool { storage.pointee.options.keys == .convertFromSnakeCase }

    /// Prepares an object for a container, and remembers the type of its keys for ``path(to:)``.
    ///
    /// - Throws: An error if a key is malformed.
    @inline(__always)
    func open<Key: CodingKey>(_ object: Int, keyedBy type: Key.Type) throws {
        if !hasPlainKeys(object) { try checkKeys(of: object) }
        UnsafeMutableRawPointer(words + object + 3).storeBytes(of: type, as: (any CodingKey.Type).self)
    }

    @inline(__always)
    func hasPlainKeys(_ object: Int) -> Bool { words[object &+ 2] & UInt64(REALTIME_JSON_PLAIN_KEYS) != 0 }

    @inline(never)
    private func checkKeys(of object: Int) throws {
        var isValid = true
        forEachMember(of: object) { key, _ in
            isValid = key.kind == REALTIME_JSON_ASCII || string(key) != nil
            return isValid
        }
        if !isValid { throw corrupted("A key is not a valid string.", at: object) }
    }

    /// Whether the keys are certainly different, and are equal to another string only if their bytes are. With a key
    /// strategy, the names that it makes are different too.
    @inline(__always)
    func hasUniqueKeys(_ object: Int) -> Bool {
        let flags = words[object &+ 2]
        if flags & UInt64(REALTIME_JSON_UNIQUE_KEYS) != 0 { return true }
        return flags & UInt64(REALTIME_JSON_REPEATED_KEYS) == 0 && findsUniqueKeys(object)
    }

    @inline(never)
    private func findsUniqueKeys(_ object: Int) -> Bool {
        let isUnique =
            hasPlainKeys(object) && realtime_json_has_unique_keys(bytes, words, object, convertsKeys)
        words[object &+ 2] |= UInt64(isUnique ? REALTIME_JSON_UNIQUE_KEYS : REALTIME_JSON_REPEATED_KEYS)
        return isUnique
    }

    /// The number of searches through a whole object that take about as much time as making a dictionary.
    private static var maximumSearch: Int { 64 }

    /// Returns the index of the value of a member that is not the next one; nil if there is no such member. The first
    /// one of several members with equal names counts.
    ///
    /// - Parameter key: The app's name, for keys that need more than a comparison of bytes.
    @inline(never)
    func member(
        _ name: UnsafePointer<realtime_json_name>,
        _ place: UnsafeMutablePointer<realtime_json_place>,
        isRead: Bool,
        _ key: () -> String
    ) -> Int? {
        let object = place.pointee.object
        guard hasPlainKeys(object) else { return memberBySearch(key(), of: object) }
        guard name.pointee.count != .max else {
            return convertsKeys ? similarMember(key(), of: object) : memberBySearch(key(), of: object)
        }
        // The app reads the members in another order than that of the text.
        guard place.pointee.searched < Self.maximumSearch &* word(object).length else {
            return memberBySearch(key(), of: object)
        }
        let found = realtime_json_find_key(bytes, words, place, name)
        guard found != 0 else { return convertsKeys ? similarMember(key(), of: object) : nil }
        guard hasUniqueKeys(object) else {
            place.pointee.asked = ~0
            return memberBySearch(key(), of: object)
        }
        place.pointee.asked = 0
        place.pointee.asking = 0
        place.pointee.cursor = isRead ? realtime_json_after_value(words, found + 1) : found
        return found + 1
    }

    /// The same, for a key without a name of its own.
    @inline(never)
    func member(_ key: String, _ place: UnsafeMutablePointer<realtime_json_place>, isRead: Bool) -> Int? {
        var utf8Name = KeyName.inText(of: key, isConverted: convertsKeys) ?? ""
        let isUsable = !utf8Name.isEmpty || key.isEmpty
        return utf8Name.withUTF8 { utf8 in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1) { empty in
                var name = realtime_json_make_name(utf8.baseAddress ?? UnsafePointer(empty.baseAddress), utf8.count)
                if !isUsable { name.count = .max }
                return member(&name, place, isRead: isRead) { key }
            }
        }
    }

    /// Looks for a key that becomes the name, if the object has only ASCII keys.
    private func similarMember(_ name: String, of object: Int) -> Int? {
        guard name.utf8.allSatisfy({ $0 < 0x80 }) else { return memberBySearch(name, of: object) }
        var utf8Name = name
        return utf8Name.withUTF8 { utf8 in
            var from = object + Int(REALTIME_JSON_OBJECT_HEADER)
            while true {
                let key = realtime_json_find_similar_key(bytes, words, object, from, utf8.baseAddress, utf8.count)
                guard key != 0 else { return nil }
                if string(word(key)).map(KeyName.convertedFromSnakeCase) == name { return key + 1 }
                from = realtime_json_after_value(words, key + 1)
            }
        }
    }

    /// Compares strings instead of bytes.
    private func memberBySearch(_ name: String, of object: Int) -> Int? {
        if word(object).length > 16 { return dictionary(of: object)[name] }
        var found: Int?
        forEachMember(of: object) { key, value in
            if self.name(key) == name { found = value }
            return found == nil
        }
        return found
    }

    private func dictionary(of object: Int) -> [String: Int] {
        if let known = storage.pointee.dictionaries[object] { return known }
        var dictionary: [String: Int] = [:]
        forEachMember(of: object) { key, value in
            if let name = name(key), dictionary[name] == nil { dictionary[name] = value }
            return true
        }
        storage.pointee.dictionaries[object] = dictionary
        return dictionary
    }

    /// Returns the name that the app's keys have, or nil if the key is malformed.
    func name(_ key: Word) -> String? {
        guard let string = string(key) else { return nil }
        return convertsKeys ? KeyName.convertedFromSnakeCase(string) : string
    }

    /// Returns the keys of an object in their order, each once, without the keys that the type does not know.
    func keys<Key: CodingKey>(of object: Int) -> [Key] {
        var keys: [Key] = []
        keys.reserveCapacity(word(object).length)
        var known: Set<String>? = hasUniqueKeys(object) ? nil : []
        forEachMember(of: object) { key, _ in
            guard let name = name(key), known?.insert(name).inserted != false else { return true }
            if let key = Key(stringValue: name) { keys.append(key) }
            return true
        }
        return keys
    }
}

/// The names of keys in the text.
enum KeyName {
    /// Returns the bytes that a key usually has in the text. Nil if only strings can be compared: strings that are not
    /// ASCII can be equal to ASCII strings, as U+212A KELVIN SIGN is equal to "K".
    static func inText(of key: String, isConverted: Bool) -> String? {
        guard key.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        guard isConverted else { return key }
        var name = ""
        for scalar in key.unicodeScalars {
            if ("A"..."Z").contains(scalar) { name += "_" }
            name.unicodeScalars.append(scalar)
        }
        name = name.lowercased()
        return convertedFromSnakeCase(name) == key ? name : nil
    }

    /// Returns the name of the key that a name in the text stands for, as `JSONDecoder` does: the words between
    /// underscores begin with an uppercase letter, except for the first word. Underscores at both ends stay. A name
    /// without underscores inside does not change.
    static func convertedFromSnakeCase(_ name: String) -> String {
        guard let first = name.firstIndex(where: { $0 != "_" }), let last = name.lastIndex(where: { $0 != "_" })
        else { return name }
        let words = name[first...last].split(separator: "_")
        guard words.count > 1 else { return name }
        return name[..<first] + words[0].lowercased() + words.dropFirst().map(\.capitalized).joined()
            + name[name.index(after: last)...]
    }
}
