import Logging
import PusherProtocol

/// Telling what happens on channels of particular kinds: presence, cache and encrypted ones.
extension ClientEngine {
    // MARK: Presence

    func membersReplaced(_ id: ChannelID, _ members: [PresenceMember], _ difference: PresenceRoster.Difference) {
        guard let channel = channel(id) as? PusherPresenceChannel else { return }
        let added = difference.added.map { PusherPresenceChannelMember($0) }
        let removed = difference.removed.map { PusherPresenceChannelMember($0) }
        broadcast(
            .replaced(members: members.map { PusherPresenceChannelMember($0) }, added: added, removed: removed),
            to: channel.membershipChanges,
            channel: channel.name
        )
        for (member, object) in zip(difference.removed, removed) {
            call(object) { channel.onMemberRemoved }
            announce(member.event(EventName.memberRemoved, on: channel.name), on: id)
        }
        for (member, object) in zip(difference.added, added) {
            call(object) { channel.onMemberAdded }
            announce(member.event(EventName.memberAdded, on: channel.name), on: id)
        }
    }

    func memberAdded(_ id: ChannelID, _ member: PresenceMember, _ envelope: Envelope) {
        guard let channel = channel(id) as? PusherPresenceChannel else { return }
        let object = PusherPresenceChannelMember(member)
        broadcast(.added(object), to: channel.membershipChanges, channel: channel.name)
        call(object) { channel.onMemberAdded }
        announce(envelope, on: id)
    }

    func memberRemoved(_ id: ChannelID, _ member: PresenceMember, _ envelope: Envelope) {
        guard let channel = channel(id) as? PusherPresenceChannel else { return }
        let object = PusherPresenceChannelMember(member)
        broadcast(.removed(object), to: channel.membershipChanges, channel: channel.name)
        call(object) { channel.onMemberRemoved }
        announce(envelope, on: id)
    }

    /// The closure is read when its turn has come: it may have been changed by then.
    private func call(
        _ member: PusherPresenceChannelMember,
        _ closure: @escaping @Sendable () -> (@Sendable (PusherPresenceChannelMember) -> Void)?
    ) {
        guard closure() != nil else { return }
        dispatcher.enqueue(.call { closure()?(member) }, for: self)
    }

    // MARK: Cache and encryption

    func cacheMissed(_ id: ChannelID, _ envelope: Envelope) {
        guard let channel = channel(id) else { return }
        channel.broadcast(CacheMiss(channelName: channel.name), to: \.cacheMisses)
        if channel.onCacheMiss != nil {
            dispatcher.enqueue(.call { channel.onCacheMiss?() }, for: self)
        }
        announce(envelope, on: id)
    }

    func failedToDecrypt(_ id: ChannelID, _ envelope: Envelope, _ error: PusherClientError) {
        let (name, channel, data) = (envelope.event, envelope.channel ?? "", envelope.data.text)
        var named = error
        named.eventName = name
        warn(named)
        debug("error: \(error.message)")
        publish(error)
        if let channel = self.channel(id) {
            let failure = DecryptionFailure(channelName: channel.name, eventName: name, error: error)
            channel.broadcast(failure, to: \.decryptionFailures)
            if channel.onDecryptionFailure != nil {
                dispatcher.enqueue(.call { channel.onDecryptionFailure?(failure) }, for: self)
            }
        }
        notify { $0.failedToDecryptEvent(eventName: name, channelName: channel, data: data) }
    }
}

extension PusherPresenceChannelMember {
    convenience init(_ member: PresenceMember) {
        self.init(userId: member.id, userInfoText: member.info)
    }
}
