import PusherProtocol

/// Handles the members of presence channels.
extension ClientStateMachine {
    /// Replaces the list of members with the list in the server's confirmation.
    ///
    /// - Parameter isNews: Whether the channel was not subscribed before.
    mutating func replaceMembers(of name: String, _ envelope: Envelope, isNews: Bool, into effects: inout [Effect]) {
        guard let (id, roster) = subscriptions.read(name, { ($0.id, $0.roster) }), let roster else { return }
        guard let all = PresenceRoster.confirmedMembers(envelope.data).map(roster.completing) else {
            reportMalformed(.unusable(envelope, .noMembers, on: name), into: &effects)
            guard isNews else { return }
            // The client must not report that the members were removed, because they may still be subscribed. The next
            // list shows the changes.
            subscriptions.update(name) { $0.roster?.keep() }
            let members = subscriptions[name]?.roster?.members ?? []
            return effects.append(.membersReplaced(id, members, PresenceRoster.Difference()))
        }
        let limit = configuration.members
        let list = roster.fitting(all, limit)
        let leavesOut = list.count < all.count
        let replaced = subscriptions.update(name) { $0.roster?.replace(with: list, leavesOut: leavesOut) }
        guard let difference = replaced ?? nil else { return }
        effects.append(.membersReplaced(id, list, difference))
        if leavesOut {
            effects.append(.report(.membersLeftOut(of: name, count: all.count, kept: list.count, limit)))
        }
    }

    mutating func memberAdded(_ envelope: Envelope, into effects: inout [Effect]) {
        guard let (name, id, member) = member(envelope, into: &effects) else { return }
        let limit = configuration.members
        switch subscriptions.update(name, { $0.roster?.add(member, limit) }) ?? nil {
        case .new?, .changed?:
            effects.append(.memberAdded(id, member, member.event(EventName.memberAdded, on: name)))
        case .leftOut(isFirst: true)?:
            effects.append(.report(.memberLeftOut(of: name, limit)))
        case .outgrown(isFirst: true)?:
            effects.append(.report(.memberNotUpdated(of: name, limit)))
        case .known?, .leftOut(isFirst: false)?, .outgrown(isFirst: false)?, nil:
            break
        }
    }

    mutating func memberRemoved(_ envelope: Envelope, into effects: inout [Effect]) {
        guard let (name, id, gone) = member(envelope, into: &effects) else { return }
        guard let member = subscriptions.update(name, { $0.roster?.remove(gone.id) }) ?? nil else {
            return countIgnored()
        }
        effects.append(.memberRemoved(id, member, member.event(EventName.memberRemoved, on: name)))
    }

    /// Returns the member in a message. Returns nil if the message names no member, or if the channel is not a
    /// subscribed presence channel.
    private mutating func member(
        _ envelope: Envelope,
        into effects: inout [Effect]
    ) -> (name: String, ChannelID, PresenceMember)? {
        guard let name = envelope.channel, let subscription = subscriptions[name], subscription.isSubscribed,
            subscription.roster != nil
        else {
            countIgnored()
            return nil
        }
        guard let member = PresenceMember(envelope.data) else {
            reportMalformed(.unusable(envelope, .noUserID, on: name), into: &effects)
            return nil
        }
        return (name, subscription.id, member)
    }
}
