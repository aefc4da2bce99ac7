import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Tests every pair of a state and a range of close codes (protocol clause 6.1).
@Suite("Table: the effect of each close code in each state", .limited)
struct CloseCodeTableTests {
    /// A range of close codes, with its first code, its last code and the codes that servers use.
    struct Range: Sendable {
        var codes: [Int?]
        /// The reaction before the greeting, and on a connection that has not held for a second.
        var early: Reaction
        /// The reaction on a connection that has held for a second.
        var late: Reaction
    }

    enum Reaction: String {
        case ask = "reconnecting, ask retry 0"
        case askForASecond = "reconnecting, ask retry 0 at least 1s"
        case reconnect = "connecting, open 2"
        case goOverToTLS = "connecting, open 2 wss:443"
        case refuse = "disconnected, status refused connectionRefused"
        case giveUp = "disconnected, status disconnected"
    }

    static let ranges = [
        Range(codes: [nil, 1000, 1001, 1002, 1005, 1006, 1007, 1009, 1011, 3999], early: .ask, late: .ask),
        Range(codes: [4000], early: .goOverToTLS, late: .goOverToTLS),
        Range(codes: [4001, 4002, 4003, 4009, 4050, 4099], early: .refuse, late: .refuse),
        Range(codes: [4100, 4101, 4199], early: .askForASecond, late: .askForASecond),
        Range(codes: [4200, 4201, 4202, 4299], early: .ask, late: .reconnect),
        Range(codes: [4300, 4399, 4400, 4999], early: .refuse, late: .refuse),
    ]

    static let early: [ConnectionSituation] = [.connecting, .opened, .greeted, .connectedJustNow]
    static let late: [ConnectionSituation] = [.connectedForFiveSeconds, .connectedForAMinute, .pinged]

    @Test("Each close code has the effect in the table", arguments: ranges, early + late)
    func closes(range: Range, situation: ConnectionSituation) {
        for code in range.codes {
            expect(Self.late.contains(situation) ? range.late : range.early, in: situation, code)
        }
    }

    @Test("Without automatic reconnects, the client stops after each close code", arguments: ranges, early + late)
    func closesWithoutReconnecting(range: Range, situation: ConnectionSituation) {
        for code in range.codes {
            expect(range.early == .refuse ? .refuse : .giveUp, in: situation, code) { $0.autoReconnect = false }
        }
    }

    @Test("Close code 4000 on a connection over TLS is a refusal", arguments: early + late)
    func closesOverTLS(situation: ConnectionSituation) {
        let request = TransportRequest(host: "h", port: 443, useTLS: true, path: "/app/key")
        expect(.refuse, in: situation, 4000) { $0.endpoint = .success(request) }
    }

    private func expect(
        _ reaction: Reaction,
        in situation: ConnectionSituation,
        _ code: Int?,
        _ configure: (inout CoreConfiguration) -> Void = { _ in }
    ) {
        var client = situation.client(configure)
        let summary = client.closed(code: code.map { CloseCode(rawValue: $0) }).summary.words
        let words = code.map { " \($0)" } ?? ""
        #expect(summary.first == "report connectionClosed\(words)")
        // Status listeners get the reason before the new attempt, even if the client does not wait.
        let atOnce = ["status waiting 0s attempt 1 connectionClosed\(words)", "status connecting"]
        let isAtOnce = reaction == .reconnect || reaction == .goOverToTLS
        #expect(summary.filter(atOnce.contains) == (isAtOnce ? atOnce : []), "\(situation), \(words)")
        let rest = summary.dropFirst().filter { !atOnce.contains($0) }
        let outcome = ([client.state.stringValue()] + rest).joined(separator: ", ")
        let reason =
            switch reaction {
            case .refuse: words
            case .giveUp: " connectionClosed\(words)"
            case .ask, .askForASecond, .reconnect, .goOverToTLS: ""
            }
        #expect(outcome == reaction.rawValue + reason, "\(situation), \(words)")
    }

    @Test(
        "A pusher:error before the greeting counts as a close, and a later pusher:error is only reported",
        arguments: ranges
    )
    func errors(range: Range) {
        for code in range.codes {
            for situation in Self.early + Self.late {
                var client = situation.client()
                let transcript = client.received(.error(code))
                var closed = situation.client()
                if situation.state == "connecting" {
                    let closing = closed.closed(code: code.map { CloseCode(rawValue: $0) })
                    #expect(transcript.wire == ["abort 1"] + closing.wire)
                    let changes = closing.changes.words.map { $0.replacing("connectionClosed", with: "serverError") }
                    #expect(transcript.changes.words == changes)
                } else {
                    #expect(transcript.summary == ["report serverError" + (code.map { " \($0)" } ?? "")])
                }
            }
        }
    }

    @Test("After disconnect(), every close code leads to the status disconnected", arguments: ranges)
    func disconnecting(range: Range) {
        for code in range.codes {
            var client = ConnectionSituation.disconnecting.client()
            let transcript = client.closed(code: code.map { CloseCode(rawValue: $0) })
            #expect(transcript.summary == ["status disconnected"])
        }
    }

    @Test(
        "A close has no effect if there is no socket",
        arguments: ranges,
        [.initialized, .asking, .waiting, .disconnected, .gaveUp, .refused] as [ConnectionSituation]
    )
    func withoutSocket(range: Range, situation: ConnectionSituation) {
        for code in range.codes {
            var client = situation.client()
            #expect(client.closed(code: code.map { CloseCode(rawValue: $0) }) == [])
        }
    }
}
