import PusherProtocol

/// The members of presence channels.
extension ClientStateMachine {
    /// The list that came with a success takes the place of the one before.
    mutating func replaceMembers(of name: String, _ envelope: Envelope, into effects: inout [Effect]) {
        guard var subscription = subscriptions[name], var roster = subscription.roster else { return }
        let members = PresenceRoster.members(envelope.data)
        if members == nil {
            reportMalformed(
                "\(EventName.subscriptionSucceededInternal) has no usable list of members",
                name,
                into: &effects
            )
        }
        let list = members ?? []
        let difference = roster.replace(with: list)
        subscription.roster = roster
        subscriptions[name] = subscription
        effects.append(.membersReplaced(subscription.id, list, difference))
    }

    mutating func memberAdded(_ envelope: Envelope, into effects: inout [Effect]) {
        guard let (name, member) = member(envelope, into: &effects) else { return }
        guard subscriptions[name]?.roster?.add(member) == true, let id = subscriptions[name]?.id else { return }
        effects.append(.memberAdded(id, member, member.event(EventName.memberAdded, on: name)))
    }

    mutating func memberRemoved(_ envelope: Envelope, into effects: inout [Effect]) {
        guard let (name, gone) = member(envelope, into: &effects) else { return }
        guard let member = subscriptions[name]?.roster?.remove(gone.id), let id = subscriptions[name]?.id else {
            return
        }
        effects.append(.memberRemoved(id, member, member.event(EventName.memberRemoved, on: name)))
    }

    /// Whom a message is about; nil where it is about nobody, or about a channel that has no members to change.
    private func member(_ envelope: Envelope, into effects: inout [Effect]) -> (name: String, PresenceMember)? {
        guard let name = envelope.channel, let subscription = subscriptions[name], subscription.isSubscribed,
            subscription.roster != nil
        else { return nil }
        guard let member = PresenceMember(envelope.data) else {
            reportMalformed("\(envelope.event) has no usable user_id", name, into: &effects)
            return nil
        }
        return (name, member)
    }

    func reportMalformed(_ message: String, _ name: String?, into effects: inout [Effect]) {
        effects.append(.report(PusherClientError(.malformedMessage, message, channelName: name)))
    }
}
