import PusherClient
import PusherProtocol
import Testing

/// All events of one channel that must be authorized, in every order, beginning with a connection.
///
/// The harness checks after each input that no subscription is sent while one is unanswered, that the channel is not
/// authorized twice at once, and that every signature is for the connection it is sent on.
@Suite("Every order of six events on one channel that must be authorized")
struct AuthorizedInterleavingTests {
    enum Step: CaseIterable { case subscribe, unsubscribe, authorized, unauthorized, success, error, loss, connect }

    @Test(
        "The last call wins, and answers of an old connection have no effect",
        arguments: ["private-a", "presence-a"],
        Step.allCases
    )
    func lastCallWins(channel: String, second: Step) {
        var start = World(channel)
        start.perform(.subscribe)
        explore([.subscribe, second], from: start)
        // The orders with another beginning. There are few, because few steps are possible before the first call.
        if second != .subscribe { explore([second], from: World(channel)) }
    }

    /// Continues from here with every possible step, so that the common beginning of two orders is done once.
    private func explore(_ steps: [Step], from world: World) {
        var world = world
        guard let last = steps.last, world.perform(last) else { return }
        let isWanted = steps.last { $0 == .subscribe || $0 == .unsubscribe } == .subscribe
        #expect(world.isWanted == isWanted, "\(steps)")
        if let problem = world.lateAnswersCount() { Issue.record("\(problem) after \(steps)") }
        if steps.count < 6 {
            for step in Step.allCases { explore(steps + [step], from: world) }
        } else {
            expectAgreement(steps, world)
        }
    }

    /// After any events: after all answers, both sides agree, and after `disconnect()` nothing is left.
    private func expectAgreement(_ steps: [Step], _ world: World) {
        var world = world
        world.perform(.connect)
        world.perform(.authorized)
        world.perform(.success)
        let isSubscribed = world.client.machine.subscriptions[world.channel]?.isSubscribed ?? false
        #expect(isSubscribed == world.server.isSubscribed, "\(steps)")
        let wasRefused = steps.contains(.error) || steps.contains(.unauthorized)
        #expect(isSubscribed == world.isWanted || (world.isWanted && wasRefused), "\(steps)")
        world.client.disconnect()
        world.client.closed(code: 1000)
        #expect(world.client.ledger.timers.isEmpty && world.client.ledger.authorizations.isEmpty, "\(steps)")
        #expect(world.client.phase(of: world.channel) == (world.isWanted ? "idle" : "gone"), "\(steps)")
    }

    /// The client, a server that answers each request, and an authorizer whose answers may come too late.
    struct World {
        struct Server {
            /// A subscription came and has no answer yet.
            var isAsked = false
            var isSubscribed = false
        }

        let channel: String
        var client = CoreClient.connected()
        var server = Server()
        /// The authorizations that the client has cancelled.
        var forgotten: [(AuthorizationTry, AuthorizationQuestion)] = []

        init(_ channel: String) { self.channel = channel }

        var isWanted: Bool { client.machine.wantedSubscriptions.map(\.name) == [channel] }

        /// False if the step is not possible.
        @discardableResult
        mutating func perform(_ step: Step) -> Bool {
            let asked = client.ledger.authorizations
            let transcript: Transcript
            switch step {
            case .subscribe: transcript = client.subscribe(channel)
            case .unsubscribe: transcript = client.unsubscribe(channel)
            case .authorized where !asked.isEmpty: transcript = client.authorized(channel)
            case .unauthorized where !asked.isEmpty:
                transcript = client.authorized(channel, .failure(AuthorizationError(.refused, "no")))
            case .success where server.isAsked:
                server = Server(isSubscribed: true)
                transcript = client.received(.anySuccess(channel))
            case .error where server.isAsked:
                server = Server()
                transcript = client.received(.refusal(channel))
            case .authorized, .unauthorized, .success, .error: return false
            case .loss:
                if client.state != .connected { return false }
                server = Server()
                transcript = client.closed() + client.decide(.seconds(1))
            case .connect:
                if client.state == .connected { return false }
                transcript = client.connect() + client.establish()
            }
            if step != .authorized, step != .unauthorized {
                for (id, question) in asked where client.ledger.authorizations[id] == nil {
                    forgotten.append((id, question))
                }
            }
            take(transcript)
            return true
        }

        private mutating func take(_ transcript: Transcript) {
            for line in transcript.wire.words {
                if line.hasSuffix("unsubscribe \(channel)") {
                    #expect(!server.isAsked, "real servers refuse to end a subscription that is in progress")
                    server = Server()
                } else if line.hasSuffix("subscribe \(channel)") {
                    #expect(!server.isAsked && !server.isSubscribed, "subscribed twice")
                    server.isAsked = true
                }
            }
        }

        /// The failure if an answer that the client no longer expects has an effect.
        func lateAnswersCount() -> String? {
            for (id, question) in forgotten {
                for result in [
                    Result.success(Authorization.good(question)), .failure(AuthorizationError(.refused, "no")),
                ] {
                    var client = client
                    let transcript = client.answer(id, result)
                    if transcript != [] || client.machine != self.client.machine {
                        return "a late answer counts: \(transcript)"
                    }
                }
            }
            return nil
        }
    }
}
