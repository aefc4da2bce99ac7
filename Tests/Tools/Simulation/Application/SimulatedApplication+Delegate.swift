import Foundation
import NIOConcurrencyHelpers
import PusherClient

/// Records the reports of one client to the app. A released client reports its last state, but no listener gets this
/// report.
final class SimulatedDelegate: PusherDelegate {
    private let application: SimulatedApplication

    init(_ application: SimulatedApplication) { self.application = application }

    private var state: NIOLockedValueBox<SimulatedApplication.State> { application.state }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        let known = state.withLockedValue { state in
            defer { state.connectionState = new }
            if new == .connected {
                state.connectedCount += 1
            } else {
                (state.isLiedTo, state.mayGetLateAnswers) = (false, state.isHeldBack)
            }
            return state.connectionState
        }
        if new != .connected { application.ledger.state.withLockedValue { $0.announced = [] } }
        application.violations.check(old == known && old != new, "\(old) → \(new) is reported after \(known)")
    }

    func subscribedToChannel(name: String) {
        note(.subscribed, of: name)
        state.withLockedValue { $0.subscribedCounts[name, default: 0] += 1 }
        application.ledger.state.withLockedValue { _ = $0.announced.insert(name) }
    }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        note(.failed, of: name)
        if let error { application.shown?.note(error) }
        application.violations.check(error != nil, "\(name) failed without a reason")
        checkBlame(name, error?.userInfo[NSUnderlyingErrorKey] as? SubscriptionError)
    }

    /// Checks that an error without a channel fails only channels that the server does not have. Exceptions are a
    /// channel whose unsubscribe the server has missed, and errors that may arrive too late.
    private func checkBlame(_ name: String, _ error: SubscriptionError?) {
        guard let error, error.code == .subscriptionRefused, error.serverCode == nil || error.serverCode == 4009,
            ["no", "Connection is unauthorized"].contains(error.message),
            !application.ledger.state.withLockedValue({ $0.hadSlowRequest }),
            let hasAtServer = state.withLockedValue({ state in
                state.isLiedTo || state.mayGetLateAnswers || !state.falselyRefused.isEmpty
                    || state.refused.contains(name) ? nil : state.hasAtServer
            })
        else { return }
        application.violations.check(!hasAtServer(name), "\(name) fails because of another channel's refusal")
    }

    func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {
        application.ledger.unreadable(data, on: channelName)
    }

    private func note(_ outcome: SimulatedApplication.Outcome, of name: String) {
        state.withLockedValue { $0.outcomes[name] = outcome }
    }
}
