import Foundation
import Logging
import NIOCore
import PusherProtocol

/// Announces changes of subscriptions, members, caches and the user. The methods run on the event loop.
extension ClientEngine {
    // MARK: Subscriptions

    func subscribed(_ id: ChannelID, _ envelope: Envelope, away: Duration?) {
        guard let channel = channel(id) else { return }
        debug("subscribed to \(channel.name)")
        forgetPayloads { $0 == channel.name }
        announce(envelope, on: channel)
        let name = channel.name
        notify(keep: .outcomes, isEvent: true) { $0.subscribedToChannel(name: name) }
        if let away { channel.broadcast(away, to: \.resubscriptions) }
        limitHolding(of: channel)
    }

    func subscriptionFailed(_ id: ChannelID, _ error: SubscriptionError, _ envelope: Envelope) {
        let name = error.channelName
        logger.warning(
            "Subscription failed",
            metadata: ["pusher.channel": "\(name.escapingControls)", "pusher.error": "\(error)"]
        )
        tellDelegate("subscription to \(name) failed: \(error.message)")
        logAnswer(error.body, for: name)
        publish(error.clientError)
        announce(envelope, on: channel(id), subscriptionError: error)
        notify(keep: .outcomes) { delegate in
            delegate.failedToSubscribeToChannel(
                name: name,
                response: error.response,
                data: error.body,
                error: error.bridged
            )
        }
    }

    /// Logs the body of an authorization endpoint's answer, without secrets.
    private func logAnswer(_ body: String?, for what: String) {
        guard let body else { return }
        debug("the answer for \(what) was: \(EndpointAnswer.withoutSecrets(body).prefix(fittingUTF8Bytes: 1_000))")
    }

    // MARK: Presence

    func membersReplaced(_ id: ChannelID, _ members: [PresenceMember], _ difference: PresenceRoster.Difference) {
        guard let channel = channel(id) as? PusherPresenceChannel else { return }
        let added = difference.added.map { PusherPresenceChannelMember($0, decoding: decoding) }
        let removed = difference.removed.map { PusherPresenceChannelMember($0, decoding: decoding) }
        let members = members.map { PusherPresenceChannelMember($0, decoding: decoding) }
        broadcast(
            .replaced(members: members, added: added, removed: removed),
            to: channel.membershipChanges,
            channel: channel.name
        )
        for (member, object) in zip(difference.removed, removed) {
            call(object) { channel.onMemberRemoved }
            announce(member.event(EventName.memberRemoved, on: channel.name), on: channel)
        }
        for (member, object) in zip(difference.added, added) {
            call(object) { channel.onMemberAdded }
            announce(member.event(EventName.memberAdded, on: channel.name), on: channel)
        }
    }

    func memberAdded(_ id: ChannelID, _ member: PresenceMember, _ envelope: Envelope) {
        guard let channel = channel(id) as? PusherPresenceChannel else { return }
        let object = PusherPresenceChannelMember(member, decoding: decoding)
        broadcast(.added(object), to: channel.membershipChanges, channel: channel.name)
        call(object) { channel.onMemberAdded }
        announce(envelope, on: channel)
    }

    func memberRemoved(_ id: ChannelID, _ member: PresenceMember, _ envelope: Envelope) {
        guard let channel = channel(id) as? PusherPresenceChannel else { return }
        let object = PusherPresenceChannelMember(member, decoding: decoding)
        broadcast(.removed(object), to: channel.membershipChanges, channel: channel.name)
        call(object) { channel.onMemberRemoved }
        announce(envelope, on: channel)
    }

    /// Calls a closure with a member. The job reads the closure when it runs, because the app may have replaced the
    /// closure by then.
    private func call(
        _ member: PusherPresenceChannelMember,
        _ closure: @escaping @Sendable () -> (@Sendable (PusherPresenceChannelMember) -> Void)?
    ) {
        guard closure() != nil else { return }
        dispatcher.enqueue(size: member.size, isEvent: true, for: self) { closure()?(member) }
    }

    // MARK: Cache and encryption

    func cacheMissed(_ id: ChannelID, _ envelope: Envelope) {
        guard let channel = channel(id) else { return }
        announce(envelope, on: channel)
    }

    func failedToDecrypt(_ id: ChannelID, _ envelope: Envelope, _ error: PusherClientError) {
        let (name, channel, data) = (envelope.event, envelope.channel ?? "", envelope.data.text)
        var error = error
        error.setEventName(name)
        warn(error)
        tellDelegate("error: \(error.message)")
        publish(error)
        let size = name.utf8.count + (data?.utf8.count ?? 0)
        notify(size: size, isEvent: true) { $0.failedToDecryptEvent(eventName: name, channelName: channel, data: data) }
    }

    // MARK: The user

    func signedIn(_ user: SignedInUser, _ envelope: Envelope) {
        debug("signed in as \(user.id)")
        forgetPayloads { $0.hasPrefix(ChannelName.serverToUserPrefix) }
        deliverToUser(envelope)
    }

    func signInFailed(_ error: PusherClientError, _ envelope: Envelope) {
        logger.warning("Sign-in failed", metadata: ["pusher.error": "\(error)"])
        tellDelegate("error: \(error.message)")
        logAnswer((error.cause as? AuthorizationError)?.body, for: "the sign-in")
        publish(error)
        let reported = PusherError(error)
        notify { $0.receivedError(error: reported) }
        deliverToUser(envelope)
    }

    func deliverToUser(_ envelope: Envelope) {
        let event = PusherEvent(envelope, decoding: decoding)
        deliver(event, to: recipients(of: event, clientListeners, userListeners))
    }

    func watchlistChanged(_ event: WatchlistEvent) {
        broadcast(event, to: watchlistEvents)
        watchlistCallbacks.deliver(event, for: self)
    }
}

extension SubscriptionError {
    /// The error as an `NSError`, for an API that takes only an `NSError`.
    fileprivate var bridged: NSError {
        NSError(
            domain: "com.pusher.PusherClient",
            code: httpStatus ?? serverCode ?? 0,
            userInfo: [
                NSLocalizedDescriptionKey: description,
                NSLocalizedFailureReasonErrorKey: message,
                NSUnderlyingErrorKey: self,
            ]
        )
    }

    /// The authorization endpoint's answer.
    fileprivate var response: URLResponse? {
        guard let error = cause as? AuthorizationError, let status = error.httpStatus,
            let url = error.address.flatMap({ URL(string: $0) })
        else { return nil }
        return HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: error.httpHeaders)
    }
}

extension PusherPresenceChannelMember {
    convenience init(_ member: PresenceMember, decoding: JSONDecodingOptions) {
        self.init(userId: member.id, userInfoText: member.info, decoding: decoding)
    }
}
