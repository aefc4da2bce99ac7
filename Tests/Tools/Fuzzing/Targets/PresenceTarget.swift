import PusherClient
import PusherProtocol
import RealtimeJSON

/// Checks that the roster has the same ids as a plain list, in the same order. Checks that each reported change is the
/// difference between the old and the new list. For the first list, the roster must report no difference.
///
/// Input: lines. The first byte is the event, and the rest is the payload. The events are `=` (a subscription
/// succeeded), `+` (a member joined), `-` (a member left) and `~` (the connection was lost). If a line begins with `s`,
/// the payload is passed as a string.
enum PresenceTarget {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        var roster = PresenceRoster()
        /// The ids of the members, in the order in which they joined.
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
                guard let members = PresenceRoster.confirmedMembers(payload) else { continue }
                let difference = roster.replace(with: members)
                check(members)
                check(difference, from: isFirst ? members.map(\.id) : ids, to: members.map(\.id))
                ids = members.map(\.id)
                (isCurrent, isFirst) = (true, false)
            case UInt8(ascii: "+"):
                guard let member = PresenceMember(payload) else { continue }
                check([member])
                let isNew = !ids.contains { $0.hasSameBytes(as: member.id) }
                let arrival = roster.add(member, PresenceRoster.Limit())
                require(
                    isNew ? arrival == .new : [.known, .changed].contains(arrival),
                    "the roster reports \(arrival) for \(member.id), and the plain list has the member: \(!isNew)"
                )
                if isNew { ids.append(member.id) }
            case UInt8(ascii: "-"):
                guard let member = PresenceMember(payload) else { continue }
                let wasThere = ids.contains { $0.hasSameBytes(as: member.id) }
                require(
                    (roster.remove(member.id) != nil) == wasThere,
                    "the roster removed \(member.id): \(!wasThere), expected \(wasThere)"
                )
                ids.removeAll { $0.hasSameBytes(as: member.id) }
            case UInt8(ascii: "~"):
                roster.subscriptionLost()
                isCurrent = false
            default: continue
            }
            let expected = isCurrent ? ids : []
            require(
                roster.members.map(\.id) == expected,
                "the members are \(roster.members.map(\.id)), expected \(expected)"
            )
            for id in expected { require(roster.member(id)?.id == id, "the roster does not find \(id)") }
        }
    }

    /// Checks that each member occurs once, that no id is empty, and that the event for a member contains the id and
    /// the info as JSON data.
    private static func check(_ members: [PresenceMember]) {
        require(Set(members.map(\.id)).count == members.count, "the roster has a member twice: \(members)")
        for member in members {
            require(!member.id.isEmpty, "a member has no id")
            let event = member.event(EventName.memberAdded, on: "presence-a")
            let parts = event.data.read { [$0["id"]?.string, $0["info"]?.text] }
            require(parts?[0] == member.id, "the event lacks the id \(member.id): \(event.jsonText)")
            require(parts?[1] == member.info ?? "null", "the event lacks the info of \(member.id): \(event.jsonText)")
        }
    }

    private static func check(_ difference: PresenceRoster.Difference, from before: [String], to after: [String]) {
        let added = difference.added.map(\.id)
        let removed = difference.removed.map(\.id)
        require(added == after.filter { !before.contains($0) }, "the reported joins are wrong: \(added)")
        require(removed == before.filter { !after.contains($0) }, "the reported leaves are wrong: \(removed)")
    }
}
