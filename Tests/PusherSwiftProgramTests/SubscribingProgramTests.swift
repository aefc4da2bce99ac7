import Foundation
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("Programs written for PusherSwift: channels and their authorization", .limited, .needsSodium)
struct SubscribingProgramTests {
    private let names = ["private-a", "presence-a", "private-encrypted-a", "private-cache-a"]

    @Test("an endpoint authorizes all kinds of channels")
    func endpoint() async throws {
        try await run(channelNames: names) { .endpoint(authEndpoint: $0.authEndpoint) }
    }

    @Test("a request builder's requests authorize channels, and their header reaches the backend")
    func requestBuilder() async throws {
        let server = try await run(channelNames: names) {
            .authRequestBuilder(authRequestBuilder: AuthRequestBuilder(url: $0.authEndpoint))
        }
        // On a slow machine, the client may repeat a subscription that has timed out.
        #expect(Set(server.authorizationRequests.map(\.bodyText)).count == names.count)
        #expect(server.authorizationRequests.allSatisfy { $0.header("Authorization") == "myToken" })
    }

    @Test("an authorizer with mutable state authorizes channels")
    func authorizer() async throws {
        try await run(channelNames: ["private-a", "presence-a"]) { _, server in
            .authorizer(
                authorizer: BackendAuthorizer { socketID, channelName, answer in
                    DispatchQueue.global().async {
                        let data = channelName.hasPrefix("presence-") ? #"{"user_id":16}"# : nil
                        let signed = server.authorization(forSocket: socketID, channel: channelName, channelData: data)
                        answer(signed.auth, data)
                    }
                }
            )
        }
    }

    @Test("the app's secret authorizes channels during development")
    func inline() async throws {
        try await run(channelNames: ["private-a", "presence-a"]) { .inline(secret: $0.secret) }
    }

    @Test(
        "a private channel fails without an auth method, and if the request builder or the authorizer returns nil"
    )
    func refused() async throws {
        let methods: [AuthMethod] = [
            .noMethod, .authRequestBuilder(authRequestBuilder: PickyRequestBuilder()),
            .authorizer(authorizer: SilentAuthorizer()),
        ]
        for method in methods {
            try await withProgram { server, settings, journal in
                let program = AuthorizationProgram(settings, authMethod: method, say: journal.say)
                program.start(channelNames: ["private-a", "public"])
                await journal.waitFor("subscribed to public")
                await journal.waitFor { $0.hasPrefix("refused: private-a ") }
                program.pusher.disconnect()
            }
        }
    }

    @discardableResult
    private func run(
        channelNames: [String],
        _ method: @escaping (Settings) -> AuthMethod
    ) async throws -> PusherTestServer {
        try await run(channelNames: channelNames) { settings, _ in method(settings) }
    }

    @discardableResult
    private func run(
        channelNames: [String],
        _ method: @escaping (Settings, PusherTestServer) -> AuthMethod
    ) async throws -> PusherTestServer {
        try await withProgram { server, settings, journal in
            let program = AuthorizationProgram(settings, authMethod: method(settings, server), say: journal.say)
            program.start(channelNames: channelNames)
            for name in channelNames { await journal.waitFor("subscribed to \(name)") }
            #expect(Set(server.connections[0].subscribedChannels) == Set(channelNames))
            program.pusher.disconnect()
            return server
        }
    }

    @Test("the app can subscribe in every form and with its own signatures, gets counts, and can unsubscribe")
    func forms() async throws {
        var options = PusherTestServer.Options()
        options.sendsSubscriptionCounts = true
        try await withProgram(options: options) { server, settings, journal in
            let program = SubscribingProgram(settings, say: journal.say)
            program.start()
            for channel in program.channels { await journal.waitFor("subscribed to \(channel.name)") }
            await journal.waitFor("count 1")
            #expect(program.channels.allSatisfy { $0.subscribed })
            let types = program.channels.map { program.describe($0) }
            #expect(types == ["normal", "private", "private", "normal", "normal", "presence", "normal"])

            let socketID = try #require(program.pusher.connection.socketId)
            for (name, data) in [("private-own", nil), ("presence-own", #"{"user_id":16}"#)] {
                let signed = server.authorization(forSocket: socketID, channel: name, channelData: data)
                program.subscribe(to: name, auth: signed.auth, channelData: data)
                await journal.waitFor("subscribed to \(name)")
            }
            #expect(server.members(of: "presence-own").map { $0.userID } == ["16"])

            program.leave()
            #expect(program.pusher.connection.channels.find(name: "my-channel") == nil)
            try await server.nextRecord(timeout: .patience) { $0.event == .unsubscribed(channel: "my-channel") }
            program.leaveAll()
            #expect(program.pusher.connection.channels.channels.isEmpty)
            try await server.nextRecord(timeout: .patience) { $0.event == .unsubscribed(channel: "presence-own") }
        }
    }

    @Test("a presence channel reports its members, joins, leaves, and the client's own member")
    func presence() async throws {
        try await withProgram { _, settings, _ in
            let journals = [Journal(), Journal()]
            let ada = PresenceProgram(settings, userId: "ada", say: journals[0].say)
            let bob = PresenceProgram(settings, userId: "bob", say: journals[1].say)
            ada.start()
            await journals[0].waitFor("me: ada @ada")
            await journals[0].waitFor(#"members: ["ada"]"#)
            bob.start()
            await journals[1].waitFor(#"members: ["ada", "bob"]"#)
            await journals[0].waitFor("joined: bob @bob")
            #expect(ada.find("bob")?.displayName == "bob")
            #expect(ada.find("eve") == nil)
            #expect(ada.joined == ["bob"])
            bob.pusher.unsubscribe("presence-my-channel")
            await journals[0].waitFor("left: bob")
            ada.replaceCallbacks()
            bob.start()
            await journals[0].waitFor("replaced: bob")
            bob.pusher.disconnect()
            ada.pusher.disconnect()
        }
    }
}
