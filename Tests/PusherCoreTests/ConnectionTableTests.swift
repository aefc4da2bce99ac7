import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Tests every pair of a state and an input. A pair that is not in the table must change nothing and have no effect.
/// The ledger checks timers and the order of states after each input.
@Suite("Table: the effect of each input in each state", .limited)
struct ConnectionTableTests {
    typealias Row = [ConnectionInput: String]

    @Test("Each input in each state has the effects in the table", arguments: ConnectionSituation.allCases)
    func inputs(situation: ConnectionSituation) throws {
        let row = try #require(Self.table[situation])
        for input in ConnectionInput.allCases {
            var client = situation.client()
            let summary = input.apply(to: &client).summary
            let outcome = ([client.state.stringValue()] + summary.words).joined(separator: ", ")
            #expect(outcome == row[input] ?? situation.state, "\(situation), \(input)")
        }
    }

    static let table: [ConnectionSituation: Row] = [
        .initialized: [
            .connect: "connecting, status connecting, open 1",
            .disconnect: "disconnected, status disconnected",
            .release: "disconnected, status disconnected, released",
        ],
        .connecting: connecting,
        .opened: connecting.with([.greeted: "connected, status connected 1.1"]),
        .greeted: connecting.with([.opened: "connected, status connected 1.1"]),
        .connectedJustNow: connected,
        .connectedForFiveSeconds: connected,
        .connectedForAMinute: connected,
        .pinged: connected.with([.pongTimer: "reconnecting, abort 1, report pongTimedOut, ask retry 0"]),
        .asking: [
            .connect: "connecting, open 2",
            .disconnect: "disconnected, status disconnected",
            .release: "disconnected, status disconnected, released",
            .retryDecided: "reconnecting, status waiting 3s attempt 1 connectionClosed",
            .retryRefused: "disconnected, report retriesExhausted, status disconnected retriesExhausted",
        ],
        .waiting: [
            .connect: "connecting, status connecting, open 2",
            .disconnect: "disconnected, status disconnected",
            .release: "disconnected, status disconnected, released",
            .retryTimer: "connecting, status connecting, open 2",
        ],
        .disconnecting: [
            .connect: "connecting, abort 1, status disconnected, status connecting, open 2",
            .closedWithoutCode: "disconnected, status disconnected",
            .closingTimer: "disconnected, abort 1, status disconnected",
            .release: "disconnecting, released",
        ],
        .disconnected: ended,
        .gaveUp: ended,
        .refused: ended,
    ]

    static let ended: Row = [
        .connect: "connecting, status connecting, open 2",
        .release: "disconnected, released",
    ]

    static let connecting: Row = [
        .disconnect: "disconnected, abort 1, status disconnected",
        .release: "disconnected, abort 1, status disconnected, released",
        .greetedUnusably: "reconnecting, abort 1, report malformedMessage, ask retry 0",
        .message: "connecting, report malformedMessage",
        .malformed: "connecting, report malformedMessage",
        .serverPing: "connecting, report malformedMessage",
        .subscriptionSucceeded: "connecting, report malformedMessage",
        .errorWithoutCode: "reconnecting, abort 1, report serverError, ask retry 0",
        .error4001: "disconnected, abort 1, report serverError 4001, status refused connectionRefused 4001",
        .error4100: "reconnecting, abort 1, report serverError 4100, ask retry 0 at least 1s",
        .error4200: "reconnecting, abort 1, report serverError 4200, ask retry 0",
        .closedWithoutCode: "reconnecting, report connectionClosed, ask retry 0",
        .attemptTimer: "reconnecting, abort 1, report connectionTimedOut, ask retry 0",
        .unavailableTimer: "connecting, status unavailable",
    ]

    /// The expected effects in the connected states. In these states, the activity timer fires early, and the client
    /// sets the timer again.
    static let connected: Row = [
        .disconnect: "disconnecting, close 1 1000, status disconnecting",
        .release: "disconnecting, close 1 1000, status disconnecting, released",
        .subscribe: "connected, send 1 subscribe a",
        .message: "connected, deliver - message",
        .malformed: "connected, report malformedMessage",
        .serverPing: "connected, send 1 pong",
        .subscriptionSucceeded: "connected, send 1 unsubscribe a",
        .errorWithoutCode: "connected, report serverError",
        .error4001: "connected, report serverError 4001",
        .error4100: "connected, report serverError 4100",
        .error4200: "connected, report serverError 4200",
        .closedWithoutCode: "reconnecting, report connectionClosed, ask retry 0",
    ]
}

extension ConnectionTableTests.Row {
    fileprivate func with(_ more: Self) -> Self { merging(more) { _, new in new } }
}
