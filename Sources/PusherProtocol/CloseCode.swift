/// A WebSocket close code, and the reaction that the protocol demands of a client (protocol clause 6.1).
package struct CloseCode: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }
    package init(integerLiteral value: Int) { self.rawValue = value }

    package static let normalClosure: CloseCode = 1000
    package static let noStatus: CloseCode = 1005
    /// Never sent: the connection was lost.
    package static let abnormalClosure: CloseCode = 1006
    /// Of SockJS: another receiving request of the session is under way.
    package static let otherConnectionOpen: CloseCode = 2010

    package enum Reaction: Hashable, Sendable {
        /// Connect again over TLS, at once, because the application accepts only TLS.
        case switchToTLS
        /// Do not connect again: the same attempt would be refused in the same way.
        case stop
        /// Connect again after at least a second.
        case backOffAtLeastOneSecond
        /// Connect again at once.
        case reconnectImmediately
        /// Connect again as the retry policy says.
        case backOff
    }

    /// By range, so that codes which are not assigned yet are handled as the protocol demands.
    package var reaction: Reaction {
        switch rawValue {
        case 4000: .switchToTLS
        case 4001...4099: .stop
        case 4100...4199: .backOffAtLeastOneSecond
        case 4200...4299: .reconnectImmediately
        case 4300...: .stop
        default: .backOff
        }
    }
}
