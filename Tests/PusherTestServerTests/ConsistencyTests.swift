import NIOEmbedded
import PusherProtocol
import Synchronization
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Consistency of the server's state with random clients", .limited)
struct ConsistencyTests {
    /// A client's view of a presence channel, from the messages that it received.
    private struct Roster {
        var members: Set<String>?

        mutating func receive(_ text: String) throws {
            let message = try Envelope(decoding: text)
            guard message.channel == "presence-x" else { return }
            let data = message.data.value
            switch message.event {
            case EventName.subscriptionSucceededInternal:
                let presence = data?["presence"]
                let ids = presence?["ids"]?.array?.compactMap(\.string) ?? []
                #expect(presence?["count"]?.integer == ids.count)
                #expect(presence?["hash"]?.object?.count == ids.count)
                members = Set(ids)
            case "pusher_internal:member_added":
                let isNew = members?.insert(data?["user_id"]?.string ?? "?").inserted
                #expect(isNew == true)
            case "pusher_internal:member_removed":
                let removed = members?.remove(data?["user_id"]?.string ?? "?")
                #expect(removed != nil)
            default:
                break
            }
        }
    }

    @Test("clients know the members, and the server keeps no state after the last client has left", arguments: 1...20)
    func randomWalk(round: Int) throws {
        var server = BrainTranscript { options in
            options.webhookURL = "http://localhost"
            options.sendsSubscriptionCounts = true
        }
        var rosters: [Int: Roster] = [:]
        var last = 0
        for _ in 0..<300 {
            var actions: [ServerAction] = []
            let number = rosters.keys.sorted().randomElement()
            switch (Int.random(in: 0..<8), number) {
            case (_, nil), (0, _):
                last += 1
                actions = server.connect(last)
                rosters[last] = Roster()
            case (1, let number?):
                actions = server.brain.connectionEnded(id(number)).withoutRecords
                rosters[number] = nil
            case (2, let number?):
                actions = server.unsubscribe(number, "presence-x")
                rosters[number]?.members = nil
            case (3, let number?):
                let watchlist = #""\#(Int.random(in: 1...3))""#
                actions = server.signIn(number, #"{"id":"\#(Int.random(in: 1...3))","watchlist":[\#(watchlist)]}"#)
            case (4, let number?):
                actions = server.subscribe(number, "#server-to-user-\(Int.random(in: 1...3))")
            case (5, let number?):
                actions = server.clientEvent(number, "client-e", "{}", "presence-x")
            case (_, let number?):
                actions = server.join(number, "presence-x", #""\#(Int.random(in: 1...3))""#)
            }
            for case .send(let connection, .text(let text)) in actions {
                try rosters[connection.rawValue]?.receive(text)
            }
            let present = Set(server.brain.presenceMembers(of: "presence-x").map(\.userID))
            for (number, roster) in rosters {
                let isSubscribed = server.brain.isSubscribed(id(number), to: "presence-x")
                #expect(isSubscribed == (roster.members != nil))
                if let members = roster.members { #expect(members == present) }
            }
        }
        for number in rosters.keys { _ = server.brain.connectionEnded(id(number)) }
        let brain = server.brain
        #expect(brain.members.isEmpty && brain.users.isEmpty && brain.watchers.isEmpty && brain.subscribers.isEmpty)
        for timer in brain.timers.keys { _ = server.fire(timer.rawValue) }
        #expect(server.brain.absences.isEmpty && server.brain.timers.isEmpty)
    }

    @Test("webhooks report channel_occupied and channel_vacated in turn, and member_added and member_removed in turn")
    func webhooksAlternate() throws {
        var server = BrainTranscript { $0.webhookURL = "http://localhost" }
        var states: [String: Bool] = [:]
        for number in 1...4 { _ = server.connect(number) }
        for _ in 0..<2_000 {
            let number = Int.random(in: 1...4)
            let actions: [ServerAction] =
                switch Int.random(in: 0..<3) {
                case 0: server.unsubscribe(number, "presence-x")
                case 1: server.join(number, "presence-x", "\(number % 2)")
                default: server.brain.timers.keys.randomElement().map { server.fire($0.rawValue) } ?? []
                }
            for case .webhook(let body) in actions {
                for event in JSONValue(parsing: body)?["events"]?.array ?? [] {
                    let name = try #require(event["name"]?.string)
                    let key = event["user_id"]?.string ?? "channel"
                    let isThere = name == "channel_occupied" || name == "member_added"
                    #expect(states[key] != isThere)
                    states[key] = isThere
                }
            }
        }
    }

    @Test("the options' closures may call the server")
    func closuresCallBack() {
        final class Holder: Sendable {
            let server = Mutex<PusherTestServer?>(nil)
        }
        let holder = Holder()
        var options = Options()
        options.authorizeChannel = { request in
            let server = holder.server.withLock { $0 }
            server?.failSubscriptions(to: "x", with: nil)
            return server?.connections.isEmpty == true ? .allow() : .refuse()
        }
        let loop = EmbeddedEventLoop()
        let network = InMemoryServer(eventLoop: loop, options: options)
        holder.server.withLock { $0 = network.server }
        let body = Array("socket_id=1.1&channel_name=private-x".utf8)
        let status = Mutex<Int?>(nil)
        network.request(Request(method: "POST", target: "/pusher/auth", body: body)) { answer in
            status.withLock { $0 = answer?.status }
        }
        loop.run()
        #expect(status.withLock { $0 } == 200)
        #expect(network.server.authorizationRequests.count == 1)
        holder.server.withLock { $0 = nil }
    }
}
