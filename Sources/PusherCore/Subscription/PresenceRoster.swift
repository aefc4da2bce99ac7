package import PusherProtocol
import RealtimeJSON

/// A user who is subscribed to a presence channel.
package struct PresenceMember: Hashable, Sendable {
    package var id: String
    /// The user's info as the JSON text that the server sent; nil if there is no info, or the info is null.
    package var info: String?

    package init(id: String, info: String? = nil) {
        self.id = id
        self.info = info
    }

    init(id: String, info: JSONNode?) {
        self.id = id
        self.info = if let info, !info.isNull { info.text } else { nil }
    }

    /// Reads the payload of `pusher_internal:member_added` and `…removed`. Returns nil if the payload names no user.
    package init?(_ data: Envelope.Payload) {
        let member = data.read { value -> PresenceMember? in
            guard let id = value["user_id"]?.identifier, !id.isEmpty else { return nil }
            return PresenceMember(id: id, info: value["user_info"])
        }
        guard let member else { return nil }
        self = member
    }

    /// Whether the member has the same info, even if the server wrote it in another way.
    fileprivate func hasInfo(of other: PresenceMember) -> Bool {
        if info == other.info { return true }
        guard let info, let otherInfo = other.info, let value = JSONValue(parsing: info) else { return false }
        return value == JSONValue(parsing: otherInfo)
    }

    /// Returns the event `pusher:member_added` or `pusher:member_removed`, with the data that pusher-js uses.
    package func event(_ name: String, on channel: String) -> Envelope {
        var writer = JSONWriter()
        writer.write(raw: #"{"id":"#)
        writer.write(string: id)
        writer.write(raw: #","info":"#)
        writer.write(raw: info ?? "null")
        writer.write(raw: "}")
        return Envelope(event: name, channel: channel, data: .string(writer.text))
    }
}

/// The members of a presence channel, according to the server's last list and the later changes. Each id appears once.
package struct PresenceRoster: Hashable, Sendable {
    /// The difference between two states of the roster.
    package struct Difference: Hashable, Sendable {
        package var added: [PresenceMember] = []
        package var removed: [PresenceMember] = []
    }

    /// The limits of a roster. Its size has the same default limit as a message's size, because one message contains
    /// all members.
    package struct Limit: Hashable, Sendable {
        package var count = 100_000
        /// The maximum size of all ids and all members' data together, in bytes.
        package var size = 16 * 1_024 * 1_024

        package init() {}
    }

    /// The result of adding a member.
    package enum Arrival: Hashable, Sendable {
        case new
        /// The member was in the roster before, and has other data now.
        case changed
        /// The member was in the roster before, and the message has the same data or none.
        case known
        /// The roster is full. `isFirst` is true if the limits have affected no other member since the last list of
        /// members.
        case leftOut(isFirst: Bool)
        /// The member was in the roster before. The new data exceeds the limit, so the member does not change.
        /// `isFirst` is true if the limits have affected no other member since the last list of members.
        case outgrown(isFirst: Bool)
    }

    /// The user id of this client's subscription.
    package var myID: String?
    private var places = WireTable<Place>()
    private var lastOrder = 0
    private var size = 0
    /// Whether the roster has left out a member, or an update of a member, since the last confirmation of the
    /// subscription.
    private var leavesOut = false
    /// Whether the roster is valid. It is valid from the server's confirmation until the next loss.
    private var isCurrent = false
    private var hasBeenFilled = false

    private struct Place: Hashable, Sendable {
        var order: Int
        var member: PresenceMember
    }

    package init() {}

    /// The members in the order of their arrival. Empty while the channel is not subscribed.
    package var members: [PresenceMember] { isCurrent ? sortedMembers : [] }

    private var sortedMembers: [PresenceMember] { places.values.sorted { $0.order < $1.order }.map(\.member) }

    package func member(_ id: String) -> PresenceMember? { isCurrent ? places[id]?.member : nil }

    /// Returns the members of a list from the server. If the list lacks the client's own member, which was in the roster
    /// before, the member is the last one: slanger sends the list before it adds the member.
    package func completing(_ members: [PresenceMember]) -> [PresenceMember] {
        guard let myID, let own = places[myID]?.member, !members.contains(where: { isMine($0.id) }) else {
            return members
        }
        return members + [own]
    }

    /// Returns the members that the limits allow, in order. The client's own member takes precedence over all others.
    package func fitting(_ members: [PresenceMember], _ limit: Limit) -> [PresenceMember] {
        var rest = limit
        if let own = members.first(where: { isMine($0.id) }) { _ = rest.take(own) }
        return members.filter { isMine($0.id) || rest.take($0) }
    }

    private func isMine(_ id: String) -> Bool { myID.map { $0.hasSameBytes(as: id) } ?? false }

    /// Handles the list in a confirmation. Returns the changes since the previous list, or no changes for the first
    /// list.
    ///
    /// - Parameters:
    ///   - members: The members that the limits allow: see ``fitting(_:_:)``.
    ///   - leavesOut: Whether the limits excluded members.
    package mutating func replace(with members: [PresenceMember], leavesOut: Bool = false) -> Difference {
        let before = places
        let isFirst = !hasBeenFilled
        places = WireTable()
        size = 0
        self.leavesOut = leavesOut
        isCurrent = true
        hasBeenFilled = true
        for member in members { put(member) }
        guard !isFirst else { return Difference() }
        return Difference(
            added: members.filter { before[$0.id] == nil },
            removed: before.values.sorted { $0.order < $1.order }.map(\.member).filter { places[$0.id] == nil }
        )
    }

    /// Handles a confirmation without a list of members. The last known members remain valid.
    package mutating func keep() {
        isCurrent = true
        hasBeenFilled = true
    }

    /// Handles a member who has joined. The limits never exclude the client's own member.
    package mutating func add(_ member: PresenceMember, _ limit: Limit) -> Arrival {
        let known = places[member.id]?.member
        let newSize = size - (known?.size ?? 0) + member.size
        guard isMine(member.id) || newSize <= limit.size && (known != nil || places.count < limit.count) else {
            let isFirst = !leavesOut
            leavesOut = true
            return known == nil ? .leftOut(isFirst: isFirst) : .outgrown(isFirst: isFirst)
        }
        put(member)
        guard let known else { return .new }
        return member.info == nil || known.hasInfo(of: member) ? .known : .changed
    }

    private mutating func put(_ member: PresenceMember) {
        size += member.size
        if let place = places[member.id] {
            size -= place.member.size
            places[member.id] = Place(order: place.order, member: member)
        } else {
            lastOrder += 1
            places[member.id] = Place(order: lastOrder, member: member)
        }
    }

    /// Removes and returns a member. Returns nil if the user is not in the roster, or is the client's own member. Some
    /// servers report that the user has left when another connection of this user was closed.
    package mutating func remove(_ id: String) -> PresenceMember? {
        guard !isMine(id) else { return nil }
        let member = places.removeValue(forKey: id)?.member
        size -= member?.size ?? 0
        return member
    }

    /// Handles the loss of the subscription. The roster keeps the members, to compare them with the next list.
    package mutating func subscriptionLost() { isCurrent = false }
}

extension PresenceRoster.Limit {
    /// Counts a member toward the limit. Returns `false` if the member exceeds the limit.
    fileprivate mutating func take(_ member: PresenceMember) -> Bool {
        guard count > 0, member.size <= size else { return false }
        count -= 1
        size -= member.size
        return true
    }
}

extension PresenceMember {
    fileprivate var size: Int { id.utf8.count + (info?.utf8.count ?? 0) }
}

extension PresenceRoster {
    /// Returns the members in the server's confirmation (protocol clause 3). `hash` is an object with the ids as keys,
    /// or a list if the server uses PHP. The members have the order of `ids`, if the payload has `ids`. Returns nil if
    /// the payload has neither `hash` nor `ids`.
    package static func confirmedMembers(_ data: Envelope.Payload) -> [PresenceMember]? {
        data.read { $0["presence"].flatMap(confirmedMembers) }
    }

    private static func confirmedMembers(_ presence: JSONNode) -> [PresenceMember]? {
        let (hash, ids) = (presence["hash"], presence["ids"])
        guard hash != nil || ids != nil else { return nil }
        let members =
            switch hash?.kind {
            case .object: hash?.members.map { PresenceMember(id: $0.name, info: $0.value) }
            case .array: hash?.elements.enumerated().map { PresenceMember(id: String($0.offset), info: $0.element) }
            default: nil as [PresenceMember]?
            }
        return inOrder(of: ids?.elements.compactMap(\.identifier) ?? [], members ?? [])
    }

    private static func inOrder(of ids: [String], _ members: [PresenceMember]) -> [PresenceMember] {
        var byID = WireTable(members.map { ($0.id, $0) })
        var seen: Set<WireText> = []
        var ordered: [PresenceMember] = []
        for id in ids where !id.isEmpty && seen.insert(WireText(id)).inserted {
            ordered.append(byID.removeValue(forKey: id) ?? PresenceMember(id: id))
        }
        return ordered + byID.values.filter { !$0.id.isEmpty }.sorted { $0.id < $1.id }
    }
}
