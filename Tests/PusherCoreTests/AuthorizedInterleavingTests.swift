import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Runs all events of one channel that must be authorized in every order, on an open connection.
///
/// The ledger checks after each input that no second subscription is sent before the answer, and that the channel is
/// not authorized twice at once. The ledger also checks that the client sends each signature only on the signature's
/// connection.
@Suite("Every order of six events on one channel that must be authorized", .limited)
struct AuthorizedInterleavingTests {
    enum Step: CaseIterable { case subscribe, unsubscribe, authorized, unauthorized, success, error, loss, connect }

    @Test(
        "The last call decides whether the channel is subscribed, and answers for an old connection have no effect",
        arguments: ["private-a", "presence-a"],
        Step.allCases
    )
    func lastCallWins(channel: String, second: Step) {
        var start = World(channel)
        start.perform(.subscribe)
        explore([.subscribe, second], from: start)
        // The test also runs the orders that begin with `second`. They are few, because few steps are possible before
        // the first `subscribe`.
        if second != .subscribe { explore([second], from: World(channel)) }
    }

    /// Continues with every possible step. Orders with the same beginning share its steps.
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

    /// Checks that client and server agree after all answers, and that nothing remains after `disconnect()`.
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

    /// A client, a server that answers each request, and an authorizer that may answer too late.
    struct World {
        struct Server {
            /// Whether the server has received a subscription and not answered it yet.
            var isAsked = false
            var isSubscribed = false
        }

        let channel: String
        var client = CoreClient.connected()
        var server = Server()
        /// The cancelled authorizations.
        var forgotten: [(AuthorizationTry, AuthorizationQuestion)] = []

        init(_ channel: String) { self.channel = channel }

        var isWanted: Bool { client.machine.wantedSubscriptions.map(\.name) == [channel] }

        /// Performs a step, or returns `false` if the step is not possible.
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

        /// Returns a description of the failure if an answer to a cancelled authorization has an effect.
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
