import PusherProtocol

@testable import PusherCore

/// All inputs of a connection, except closes with a code.
enum ConnectionInput: CaseIterable {
    case connect, disconnect, release, subscribe
    case opened, greeted, greetedUnusably
    case message, malformed, control, serverPing, subscriptionSucceeded
    case errorWithoutCode, error4001, error4100, error4200
    case closedWithoutCode
    case attemptTimer, retryTimer, unavailableTimer, closingTimer, activityTimer, pongTimer
    case retryDecided, retryRefused
    case staleTimer, staleDecision, staleClose, staleMessage
}

extension ConnectionInput {
    /// Gives the input to the client. A timer that does not run in this state does not fire.
    func apply(to client: inout CoreClient) -> Transcript {
        switch self {
        case .connect: client.connect()
        case .disconnect: client.disconnect()
        case .release: client.release()
        case .subscribe: client.subscribe("a")
        case .opened: client.opened()
        case .greeted: client.greeted()
        case .greetedUnusably: client.received(Envelope(event: EventName.connectionEstablished))
        case .message: client.received(.message(nil))
        case .malformed: client.malformed()
        case .control: client.frameReceived()
        case .serverPing: client.received(.ping)
        case .subscriptionSucceeded: client.received(.success("a"))
        case .errorWithoutCode: client.received(.error(nil))
        case .error4001: client.received(.error(4001))
        case .error4100: client.received(.error(4100))
        case .error4200: client.received(.error(4200))
        case .closedWithoutCode: client.closed()
        case .attemptTimer: client.fire(.attempt)
        case .retryTimer: client.fire(.retry)
        case .unavailableTimer: client.fire(.unavailable)
        case .closingTimer: client.fire(.closing)
        case .activityTimer: client.fire(.activity)
        case .pongTimer: client.fire(.pong)
        case .retryDecided: client.decide(.seconds(3))
        case .retryRefused: client.decide(nil)
        case .staleTimer:
            TimerID.Purpose.allCases.map { client.fire(TimerID($0, .max)) }.reduce([], +)
        case .staleDecision:
            client.decide(.zero, question: .connection(.max))
                + client.decide(nil, question: .connection(.max))
        case .staleClose: client.closed(99, code: 4001)
        case .staleMessage: client.received(.message(nil), on: 99) + client.opened(99) + client.greeted(on: 99)
        }
    }
}
