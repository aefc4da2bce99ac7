import Logging
import PusherProtocol

/// Telling what happens to the user, and to those whom they watch.
extension ClientEngine {
    func signedIn(_ user: SignedInUser, _ envelope: Envelope) {
        debug("signed in as \(user.id)")
        if options.payloadTransformer != nil { forgetPayloadsOfUsers() }
        deliverToUser(envelope)
    }

    func signInFailed(_ error: PusherClientError, _ envelope: Envelope) {
        logger.warning("Sign-in failed", metadata: ["pusher.error": "\(error)"])
        debug("error: \(error.message)")
        publish(error)
        let reported = PusherError(error)
        notify { $0.receivedError(error: reported) }
        deliverToUser(envelope)
    }

    func deliverToUser(_ envelope: Envelope) {
        deliver(PusherEvent(envelope), to: everyEvent, userEvents)
    }

    func watchlistChanged(_ event: WatchlistEvent) {
        broadcast(event, to: watchlistEvents)
        watchlistCallbacks.deliver(event, by: dispatcher, for: self)
    }
}
