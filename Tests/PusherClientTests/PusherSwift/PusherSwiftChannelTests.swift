import Dispatch
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// PusherSwift's tests of connecting, subscribing and unsubscribing, which check the messages to the server.
@Suite("PusherSwift: channels", .limited)
struct PusherSwiftChannelTests {
    let world = VirtualWorld()

    private var options: PusherClientOptions {
        .virtual(authMethod: .inline(secret: world.server.options.application.secret))
    }

    /// The codes of the close frames that clients have sent.
    private var closeCodes: [Int] {
        world.server.records.compactMap { record in
            if case .closeReceived(let code, _) = record.event { code } else { nil }
        }
    }

    @Test("connect() opens one socket, and after disconnect() the socket is closed and no channel is subscribed")
    func connecting() async throws {
        let pusher = world.makeClient(options)
        let channels = ["test-channel", "private-channel"].map { pusher.subscribe($0) }
        pusher.connect()
        await world.runUntil { channels.allSatisfy(\.subscribed) }
        #expect(pusher.connection.connectionState == .connected)
        #expect(world.server.connections.count == 1)
        pusher.disconnect()
        await world.run()
        #expect(closeCodes == [1000])
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(world.server.connections.isEmpty)
        #expect(channels.map(\.subscribed) == [false, false])
        #expect(channels.map(\.name) == ["test-channel", "private-channel"])
    }

    @Test(
        "the client subscribes a new channel with one frame, before or after connect()",
        arguments: ["test-channel", "private-channel", "presence-channel"],
        [true, false]
    )
    func subscribing(name: String, isConnected: Bool) async throws {
        let delegate = RecordingDelegate()
        let pusher = world.makeClient(options)
        pusher.delegate = delegate
        if isConnected {
            pusher.connect()
            await world.run()
        }
        let channel = try await world.atOnce {
            let channel = pusher.subscribe(name)
            #expect(!channel.subscribed)
            return channel
        }
        #expect(channel.name == name)
        #expect(channel.listeners.isEmpty)
        #expect(pusher.connection.channels.find(name: name) === channel)
        if !isConnected { pusher.connect() }
        await world.runUntil { delegate.subscriptions.count == 1 }
        #expect(channel.subscribed)
        #expect(delegate.subscriptions.elements == [name])
        let socketID = try #require(pusher.connection.socketId)
        #expect(world.server.receivedMessages() == [frame(of: name, socketID: socketID)])
        #expect(world.server.connections.map(\.subscribedChannels) == [[name]])
    }

    /// Returns the expected subscription message for a channel. The client makes the signature itself.
    private func frame(of name: String, socketID: String) -> String {
        var members = #""channel":"\#(name)""#
        let type = PusherChannelType(name: name)
        let user = type == .presence ? #"{"user_id":"\#(socketID)"}"# : nil
        let signed = world.server.authorization(forSocket: socketID, channel: name, channelData: user)
        if type != .normal { members += #","auth":"\#(signed.auth)""# }
        if user != nil { members += #","channel_data":"{\"user_id\":\"\#(socketID)\"}""# }
        return #"{"event":"pusher:subscribe","data":{\#(members)}}"#
    }

    @Test("the client's and the channel's callbacks get the success of a subscription")
    func success() async throws {
        let pusher = world.makeClient(options)
        let told = Log<String>()
        pusher.bind { told.append("client: \($0.eventName) \($0.channelName ?? "-")") }
        let channel = pusher.subscribe("test-channel")
        channel.bind(eventName: "pusher:subscription_succeeded") { told.append("channel: \($0.channelName ?? "-")") }
        pusher.connect()
        await world.run()
        #expect(
            told.elements == ["client: pusher:subscription_succeeded test-channel", "channel: test-channel"]
        )
    }

    @Test("unsubscribe() removes the channel and tells the server, even in the callback of the success")
    func unsubscribing() async throws {
        let pusher = try await world.makeConnectedClient(options)
        let isKnown = Log<Bool>()
        try await world.atOnce {
            let channel = pusher.subscribe("test-channel")
            channel.bind(eventName: "pusher:subscription_succeeded") { _ in
                isKnown.append(pusher.connection.channels.find(name: "test-channel") != nil)
                pusher.unsubscribe("test-channel")
                isKnown.append(pusher.connection.channels.find(name: "test-channel") != nil)
            }
        }
        await world.run()
        #expect(isKnown.elements == [true, false])
        #expect(
            world.server.receivedMessages() == [
                #"{"event":"pusher:subscribe","data":{"channel":"test-channel"}}"#,
                #"{"event":"pusher:unsubscribe","data":{"channel":"test-channel"}}"#,
            ]
        )
        #expect(world.server.connections.map(\.subscribedChannels) == [[]])
    }

    @Test("unsubscribeAll() removes all channels before it returns, on any queue")
    func unsubscribingAll() async throws {
        let pusher = try await world.makeConnectedClient(options)
        for name in ["test-channel", "other-channel"] { pusher.subscribe(name) }
        await world.run()
        #expect(pusher.connection.channels.channels.count == 2)
        let counts = Log<Int>()
        DispatchQueue(label: "unsubscribing").async {
            pusher.unsubscribeAll()
            counts.append(pusher.connection.channels.channels.count)
        }
        await world.runUntil { counts.count == 1 }
        #expect(counts.elements == [0])
        #expect(world.server.connections.map(\.subscribedChannels) == [[]])
    }
}
