import PusherClient
import PusherProtocol

/// The list of members equals a plain list by ids, and each reported change is the difference.
///
/// Input: lines. The first byte is the event, the rest is the payload: `=` a subscription succeeded, `+` a member
/// joined, `-` a member left, `~` the connection was lost. After a small letter, the payload is a string.
enum PresenceTarget {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        var roster = PresenceRoster()
        /// The ids, in the order in which they joined.
        var ids: [String] = []
        var isCurrent = false
        var isFirst = true
        while var line = reader.line() {
            let isString = line.first == UInt8(ascii: "s")
            if isString { line.removeFirst() }
            guard let kind = line.first else { continue }
            let text = Array(line.dropFirst()).text
            let payload: Envelope.Payload = isString ? .string(text) : .json(text)
            switch kind {
            case UInt8(ascii: "="):
                guard let members = PresenceRoster.members(payload) else { continue }
                let difference = roster.replace(with: members)
                check(members)
                check(difference, from: isFirst ? members.map(\.id) : ids, to: members.map(\.id))
                ids = members.map(\.id)
                (isCurrent, isFirst) = (true, false)
            case UInt8(ascii: "+"):
                guard let member = PresenceMember(payload) else { continue }
                check([member])
                let isNew = !ids.contains(member.id)
                let arrival = roster.add(member, PresenceRoster.Limit())
                require(arrival == (isNew ? .new : .known), "\(member.id) is new: \(isNew)")
                if isNew { ids.append(member.id) }
            case UInt8(ascii: "-"):
                guard let member = PresenceMember(payload) else { continue }
                let wasThere = ids.contains(member.id)
                require((roster.remove(member.id) != nil) == wasThere, "\(member.id) was there: \(wasThere)")
                ids.removeAll { $0 == member.id }
            case UInt8(ascii: "~"):
                roster.connectionLost()
                isCurrent = false
            default: continue
            }
            let expected = isCurrent ? ids : []
            require(roster.members.map(\.id) == expected, "\(roster.members.map(\.id)), not \(expected)")
            for id in expected { require(roster.member(id)?.id == id, "\(id) is not found") }
        }
    }

    /// Each change is reported as an event, whose data must be JSON with the same content.
    private static func check(_ members: [PresenceMember]) {
        require(Set(members.map(\.id)).count == members.count, "a member stands twice in \(members)")
        for member in members {
            require(!member.id.isEmpty, "a member has no id")
            let event = member.event(EventName.memberAdded, on: "presence-a")
            guard let value = event.data.value else { return require(false, "no JSON: \(event.jsonText)") }
            require(value["id"]?.string == member.id, "\(member.id) is not told: \(event.jsonText)")
            let info = member.info.flatMap { JSONValue(parsing: $0) }
            require(value["info"] == info ?? .null, "the info of \(member.id) is not told: \(event.jsonText)")
        }
    }

    private static func check(_ difference: PresenceRoster.Difference, from before: [String], to after: [String]) {
        let added = difference.added.map(\.id)
        let removed = difference.removed.map(\.id)
        require(added == after.filter { !before.contains($0) }, "\(added) are told to have come")
        require(removed == before.filter { !after.contains($0) }, "\(removed) are told to have left")
    }
}
