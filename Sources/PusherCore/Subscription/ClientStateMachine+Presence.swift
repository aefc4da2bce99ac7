import PusherProtocol

/// The members of presence channels.
extension ClientStateMachine {
    /// The list that came with a success takes the place of the one before.
    ///
    /// - Parameter isNews: Whether the channel was not subscribed before.
    mutating func replaceMembers(of name: String, _ envelope: Envelope, isNews: Bool, into effects: inout [Effect]) {
        guard let subscription = subscriptions[name], subscription.roster != nil else { return }
        guard let all = PresenceRoster.members(envelope.data) else {
            let message = "\(EventName.subscriptionSucceededInternal) has no usable list of members"
            reportMalformed(message, name, into: &effects)
            guard isNews else { return }
            // Nobody is told to have left who may be there; the next list says what has changed since the last.
            subscriptions.update(name) { $0.roster?.keep() }
            let members = subscriptions[name]?.roster?.members ?? []
            return effects.append(.membersReplaced(subscription.id, members, PresenceRoster.Difference()))
        }
        let list = subscription.roster?.fitting(all, configuration.members) ?? all
        let leavesOut = list.count < all.count
        let replaced = subscriptions.update(name) { $0.roster?.replace(with: list, leavesOut: leavesOut) }
        guard let difference = replaced ?? nil else { return }
        effects.append(.membersReplaced(subscription.id, list, difference))
        if leavesOut {
            let what = "\(name) has \(all.count) members, of whom \(list.count) are kept"
            effects.append(.report(tooManyMembers(what, channel: name)))
        }
    }

    func tooManyMembers(_ what: String, channel: String?) -> PusherClientError {
        let limit = configuration.members
        return PusherClientError(
            .tooManyMembers,
            "\(what): limits.members allows \(limit.count), and limits.messageSize \(limit.size) bytes of them",
            channelName: channel
        )
    }

    mutating func memberAdded(_ envelope: Envelope, into effects: inout [Effect]) {
        guard let (name, id, member) = member(envelope, into: &effects) else { return }
        let limit = configuration.members
        switch subscriptions.update(name, { $0.roster?.add(member, limit) }) ?? nil {
        case .new?:
            effects.append(.memberAdded(id, member, member.event(EventName.memberAdded, on: name)))
        case .leftOut(isFirst: true)?:
            let what = "somebody has come to \(name) who is not kept, nor will others be until there is room"
            effects.append(.report(tooManyMembers(what, channel: name)))
        case .outgrown(isFirst: true)?:
            let what = "a member of \(name) stays as before, for what is new of them has no room"
            effects.append(.report(tooManyMembers(what, channel: name)))
        case .known?, .leftOut(isFirst: false)?, .outgrown(isFirst: false)?, nil:
            break
        }
    }

    mutating func memberRemoved(_ envelope: Envelope, into effects: inout [Effect]) {
        guard let (name, id, gone) = member(envelope, into: &effects) else { return }
        guard let member = subscriptions.update(name, { $0.roster?.remove(gone.id) }) ?? nil else { return ignore() }
        effects.append(.memberRemoved(id, member, member.event(EventName.memberRemoved, on: name)))
    }

    /// Whom a message is about; nil where it is about nobody, or about a channel that has no members to change.
    private mutating func member(
        _ envelope: Envelope,
        into effects: inout [Effect]
    ) -> (name: String, ChannelID, PresenceMember)? {
        guard let name = envelope.channel, let subscription = subscriptions[name], subscription.isSubscribed,
            subscription.roster != nil
        else {
            ignore()
            return nil
        }
        guard let member = PresenceMember(envelope.data) else {
            reportMalformed("\(envelope.event) has no usable user_id", name, into: &effects)
            return nil
        }
        return (name, subscription.id, member)
    }

    mutating func reportMalformed(_ message: String, _ name: String?, into effects: inout [Effect]) {
        statistics.messages.malformed += 1
        effects.append(.report(PusherClientError(.malformedMessage, message, channelName: name)))
    }
}
