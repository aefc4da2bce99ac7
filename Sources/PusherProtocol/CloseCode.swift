/// A WebSocket close code, and the reaction that the protocol demands of a client (protocol clause 6.1).
package struct CloseCode: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }
    package init(integerLiteral value: Int) { self.rawValue = value }

    package static let normalClosure: CloseCode = 1000
    package static let noStatus: CloseCode = 1005
    /// The code for a connection that was lost without a close frame. No close frame contains this code.
    package static let abnormalClosure: CloseCode = 1006
    /// A code of SockJS: another receiving request of the session is under way.
    package static let otherConnectionOpen: CloseCode = 2010

    package enum Reaction: Hashable, Sendable {
        /// Reconnect at once over TLS, because the Pusher app accepts only TLS.
        case switchToTLS
        /// The server refuses the client. Do not reconnect, because the server would refuse the same attempt again.
        case refused
        /// Reconnect after at least a second.
        case backOffAtLeastOneSecond
        /// Reconnect at once.
        case reconnectImmediately
        /// Reconnect when the retry policy allows it.
        case backOff
    }

    /// The reaction to the code. The protocol defines reactions for ranges of codes, including unassigned codes.
    package var reaction: Reaction {
        switch rawValue {
        case 4000: .switchToTLS
        case 4001...4099: .refused
        case 4100...4199: .backOffAtLeastOneSecond
        case 4200...4299: .reconnectImmediately
        case 4300...: .refused
        default: .backOff
        }
    }
}
