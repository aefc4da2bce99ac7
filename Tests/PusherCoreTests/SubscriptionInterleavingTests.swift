import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Runs all events of one channel in every order.
@Suite("Every order of six events on one channel", .limited)
struct SubscriptionInterleavingTests {
    enum Step: CaseIterable { case subscribe, unsubscribe, success, error, loss, connect }

    /// The ledger checks that the client sends nothing without a connection, and no second subscription before the
    /// answer to the first.
    @Test("The last call decides whether the channel is subscribed", arguments: Step.allCases)
    func lastCallWins(first: Step) {
        explore([first], from: CoreClient(), Server())
    }

    /// Continues with every possible step. Orders with the same beginning share its steps.
    private func explore(_ steps: [Step], from client: CoreClient, _ server: Server) {
        var (client, server) = (client, server)
        guard let last = steps.last, perform(last, &client, &server) else { return }
        let isWanted = steps.last { $0 == .subscribe || $0 == .unsubscribe } == .subscribe
        #expect(client.machine.wantedSubscriptions.map(\.name) == (isWanted ? ["a"] : []), "\(steps)")
        if steps.count < 6 {
            for step in Step.allCases { explore(steps + [step], from: client, server) }
        } else {
            expectAgreement(steps, client, server)
        }
    }

    /// Checks that client and server agree after all answers.
    private func expectAgreement(_ steps: [Step], _ client: CoreClient, _ server: Server) {
        var (client, server) = (client, server)
        perform(.connect, &client, &server)
        perform(.success, &client, &server)
        let isWanted = !client.machine.wantedSubscriptions.isEmpty
        let isRefused = isWanted && !server.isSubscribed && steps.contains(.error)
        #expect(server.isSubscribed == isWanted || isRefused, "\(steps)")
        #expect((client.machine.subscriptions["a"]?.isSubscribed ?? false) == server.isSubscribed, "\(steps)")
    }

    /// The server's view of the channel.
    struct Server {
        /// Whether the server has received a subscription and not answered it yet.
        var isAsked = false
        var isSubscribed = false
    }

    /// Performs a step, or returns `false` if the step is not possible.
    @discardableResult
    private func perform(_ step: Step, _ client: inout CoreClient, _ server: inout Server) -> Bool {
        let transcript: Transcript
        switch step {
        case .subscribe: transcript = client.subscribe("a")
        case .unsubscribe: transcript = client.unsubscribe("a")
        case .success where server.isAsked:
            server = Server(isSubscribed: true)
            transcript = client.received(.success("a"))
        case .error where server.isAsked:
            server = Server()
            transcript = client.received(.refusal("a"))
        case .success, .error: return false
        case .loss:
            if client.state != .connected { return false }
            server = Server()
            transcript = client.closed() + client.decide(.seconds(1))
        case .connect:
            if client.state == .connected { return false }
            transcript = client.connect() + client.establish()
        }
        for line in transcript.wire.words {
            if line.hasSuffix("unsubscribe a") {
                #expect(!server.isAsked, "real servers refuse to end a subscription that is in progress")
                server = Server()
            } else if line.hasSuffix("subscribe a") {
                #expect(!server.isAsked && !server.isSubscribed, "subscribed twice")
                server.isAsked = true
            }
        }
        return true
    }
}
