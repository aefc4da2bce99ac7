package import PusherProtocol

/// A user who is subscribed to a presence channel.
package struct PresenceMember: Hashable, Sendable {
    package var id: String
    /// JSON text; nil if there is none, or it is null.
    package var info: String?

    package init(id: String, info: String? = nil) {
        self.id = id
        self.info = info
    }

    init(id: String, info: JSONValue?) {
        self.id = id
        self.info = if let info, info != .null { info.jsonText } else { nil }
    }

    /// The payload of `pusher_internal:member_added` and `…removed`; nil if it names no user.
    package init?(_ data: Envelope.Payload) {
        guard let value = data.value, let id = value["user_id"]?.identifier, !id.isEmpty else { return nil }
        self.init(id: id, info: value["user_info"])
    }

    /// The event `pusher:member_added` or `pusher:member_removed`, with the data that pusher-js gives it.
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

/// The members of a presence channel. Each id appears once, and the list is the server's last one.
package struct PresenceRoster: Hashable, Sendable {
    /// The difference between the old list and the new one.
    package struct Difference: Hashable, Sendable {
        package var added: [PresenceMember] = []
        package var removed: [PresenceMember] = []
    }

    /// The limits of a list. Its size is limited like that of a message, because each subscription sends it in one.
    package struct Limit: Hashable, Sendable {
        package var count = 100_000
        /// The bytes of all ids and of all data about members.
        package var size = 16 * 1_024 * 1_024

        package init() {}
    }

    /// The result of adding a member.
    package enum Arrival: Hashable, Sendable {
        case new
        /// The member was there before, and has the new data.
        case known
        /// The list is full. `isFirst` is true for the first time since the last subscription.
        case leftOut(isFirst: Bool)
        /// The member was there before. The new data exceeds the limit, so the member does not change. `isFirst` is
        /// used likewise.
        case outgrown(isFirst: Bool)
    }

    /// The user id under which this client is subscribed.
    package var myID: String?
    private var places: [String: Place] = [:]
    private var lastOrder = 0
    private var size = 0
    /// True if a member did not fit into the list since it was last replaced.
    private var leavesOut = false
    /// True from a success until the next loss.
    private var isCurrent = false
    private var hasBeenFilled = false

    private struct Place: Hashable, Sendable {
        var order: Int
        var member: PresenceMember
    }

    package init() {}

    /// The members in the order of their arrival; none while the channel is not subscribed.
    package var members: [PresenceMember] { isCurrent ? list : [] }

    private var list: [PresenceMember] { places.values.sorted { $0.order < $1.order }.map(\.member) }

    package func member(_ id: String) -> PresenceMember? { isCurrent ? places[id]?.member : nil }

    /// The members that fit into the list, in order. The client's own member takes precedence over all others.
    package func fitting(_ members: [PresenceMember], _ limit: Limit) -> [PresenceMember] {
        var rest = limit
        if let own = members.first(where: { $0.id == myID }) { _ = rest.take(own) }
        return members.filter { $0.id == myID || rest.take($0) }
    }

    /// Handles a success, and returns the changes since the last one. There are none if it is the first.
    ///
    /// - Parameters:
    ///   - members: Those that fit: see ``fitting(_:_:)``.
    ///   - leavesOut: Whether there are others that do not fit.
    package mutating func replace(with members: [PresenceMember], leavesOut: Bool = false) -> Difference {
        let before = places
        let isFirst = !hasBeenFilled
        places = [:]
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

    /// Handles a success without a list of members. The last known list remains valid.
    package mutating func keep() {
        isCurrent = true
        hasBeenFilled = true
    }

    /// Handles a member who has joined. The client's own member is never left out.
    package mutating func add(_ member: PresenceMember, _ limit: Limit) -> Arrival {
        let known = places[member.id]?.member
        let newSize = size - (known?.size ?? 0) + member.size
        guard member.id == myID || newSize <= limit.size && (known != nil || places.count < limit.count) else {
            let isFirst = !leavesOut
            leavesOut = true
            return known == nil ? .leftOut(isFirst: isFirst) : .outgrown(isFirst: isFirst)
        }
        put(member)
        return known == nil ? .new : .known
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

    /// Removes and returns a member; nil if there was none. It also returns nil for this client's own member: since
    /// this client is subscribed, only another connection of the same user can have ended, and some servers report that
    /// as a removal.
    package mutating func remove(_ id: String) -> PresenceMember? {
        guard id != myID else { return nil }
        let member = places.removeValue(forKey: id)?.member
        size -= member?.size ?? 0
        return member
    }

    /// Handles the loss of the connection. The list is kept, to compare it with the next one.
    package mutating func connectionLost() { isCurrent = false }
}

extension PresenceRoster.Limit {
    /// Returns `false` if the list is full.
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
    /// The members in the payload of a success (protocol clause 3): `hash` by id or, from PHP, as a list; in the order
    /// of `ids` if there is one. Nil if there are none.
    package static func members(_ data: Envelope.Payload) -> [PresenceMember]? {
        guard let presence = data.value?["presence"], presence.object != nil else { return nil }
        var members: [PresenceMember] = []
        switch presence["hash"] {
        case .object(let hash): members = hash.map { PresenceMember(id: $0.key, info: $0.value) }
        case .array(let list):
            members = list.enumerated().map { PresenceMember(id: String($0.offset), info: $0.element) }
        default: break
        }
        let ids = presence["ids"]?.array?.compactMap(\.identifier) ?? []
        guard presence["hash"] != nil || presence["ids"] != nil else { return nil }
        var byID = Dictionary(members.map { ($0.id, $0) }) { _, last in last }
        var seen: Set<String> = []
        var ordered: [PresenceMember] = []
        for id in ids where !id.isEmpty && seen.insert(id).inserted {
            ordered.append(byID.removeValue(forKey: id) ?? PresenceMember(id: id))
        }
        return ordered + byID.values.filter { !$0.id.isEmpty }.sorted { $0.id < $1.id }
    }
}
