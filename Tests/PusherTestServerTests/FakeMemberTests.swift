import NIOCore
import NIOEmbedded
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Simulated members of presence channels", .limited)
struct FakeMemberTests {
    /// A client on the channel, and a server in virtual time.
    private final class Room {
        static let name = "presence-room"

        let loop = EmbeddedEventLoop()
        private let front: InMemoryServer
        private let inbox: NIOLoopBoundBox<[InMemoryLink.Event]>
        var server: PusherTestServer { front.server }

        init(_ change: (inout Options) -> Void = { _ in }) {
            var options = Options()
            options.socketIDPrefix = 7
            change(&options)
            front = InMemoryServer(eventLoop: loop, options: options)
            inbox = NIOLoopBoundBox([], eventLoop: loop)
        }

        deinit {
            server.dropConnections()
            try? loop.syncShutdownGracefully()
        }

        /// Subscribes as Ada, and drops the messages that arrive meanwhile.
        func open() {
            let inbox = self.inbox
            let link = front.open(Request(target: "/app/app-key"), on: loop) { event in inbox.value.append(event) }
            loop.advanceTime(by: .zero)
            let data = #"{"user_id":"ada"}"#
            let socketID = server.connections.first?.socketID ?? ""
            let auth = server.authorization(forSocket: socketID, channel: Self.name, channelData: data)
            link.send(Envelope.subscribe(channel: Self.name, auth: auth.auth, channelData: data).jsonText)
            _ = texts()
        }

        func texts() -> [String] {
            loop.advanceTime(by: .zero)
            defer { inbox.value = [] }
            return inbox.value.compactMap { event in
                guard case .text(let text) = event else { return nil }
                return text
            }
        }
    }

    @Test("fake members join and leave like other members")
    func joinAndLeave() throws {
        let room = Room()
        room.open()
        let bob = try room.server.join("bob", in: Room.name, userInfo: #" {"name":"Bob"} "#)
        #expect(
            room.texts() == [
                message("pusher_internal:member_added", #"{"user_id":"bob","user_info":{"name":"Bob"}}"#, Room.name)
            ]
        )
        #expect(room.server.members(of: Room.name).map(\.userID) == ["ada", "bob"])
        #expect(room.server.subscriptionCount(of: Room.name) == 1)
        #expect(room.server.records.contains { $0.event == .memberJoined(channel: Room.name, userID: "bob") })
        bob.leave()
        bob.leave()
        #expect(room.texts() == [message("pusher_internal:member_removed", #"{"user_id":"bob"}"#, Room.name)])
        #expect(room.server.members(of: Room.name).map(\.userID) == ["ada"])
    }

    @Test("fake members and connections have different socket ids")
    func socketIDs() throws {
        let room = Room()
        let bob = try room.server.join("bob", in: Room.name)
        room.open()
        let eve = try room.server.join("eve", in: Room.name)
        #expect(bob.socketID == "7.1")
        #expect(room.server.connections.map(\.socketID) == ["7.2"])
        #expect(eve.socketID == "7.3")
        #expect(bob.userID == "bob")
    }

    @Test("later subscribers get the fake members in the list")
    func found() throws {
        let room = Room()
        try room.server.join("bob", in: Room.name)
        room.open()
        #expect(room.server.members(of: Room.name).map(\.userID) == ["bob", "ada"])
        room.server.dropConnections()
        _ = room.texts()
        #expect(room.server.members(of: Room.name).map(\.userID) == ["bob"])
    }

    @Test("a user with two fake members leaves when both have left")
    func twice() throws {
        let room = Room()
        room.open()
        let first = try room.server.join("bob", in: Room.name)
        let second = try room.server.join("bob", in: Room.name)
        #expect(room.texts().count == 1)
        first.leave()
        #expect(room.texts() == [])
        second.leave()
        #expect(room.texts().count == 1)
    }

    @Test("client events of fake members go to the connections, with the member's user id")
    func clientEvents() throws {
        let room = Room()
        let bob = try room.server.join("bob", in: Room.name)
        #expect(try bob.send("client-typing") == 0)
        room.open()
        #expect(try bob.send("client-typing", data: #"{"on":true}"#) == 1)
        #expect(try bob.send("client-note", data: "no JSON") == 1)
        let end = #""channel":"presence-room","user_id":"bob"}"#
        #expect(
            room.texts() == [
                #"{"event":"client-typing","data":"{\"on\":true}",\#(end)"#,
                #"{"event":"client-note","data":"no JSON",\#(end)"#,
            ]
        )
        #expect(
            room.server.records.contains {
                $0.event == .clientEventRelayed(name: "client-typing", channel: Room.name)
                    && $0.socketID == bob.socketID
            }
        )
        bob.leave()
        #expect(try bob.send("client-typing") == 0)
        #expect(room.texts().count == 1)
    }

    @Test("an invalid call throws an error that names the rule")
    func refused() throws {
        let room = Room { $0.maximumMemberCount = 1 }
        func failure(_ userID: String, _ channel: String, _ info: String? = nil) -> PusherTestServer.ServerError? {
            #expect(throws: PusherTestServer.ServerError.self) {
                try room.server.join(userID, in: channel, userInfo: info)
            }
        }
        for (error, text) in [
            (failure("bob", "private-room"), "\"private-room\" is not the name of a presence channel"),
            (failure("bob", Room.name, "{"), "the user info is not JSON"),
            (failure("", Room.name), "1 to 128 bytes"),
        ] {
            #expect(error?.code == .invalidMember)
            #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
        }
        #expect(room.server.members(of: Room.name) == [])
        let bob = try room.server.join("bob", in: Room.name)
        #expect(failure("eve", Room.name)?.message.contains("maximum members") == true)
        for name in ["typing", "client-" + String(repeating: "x", count: 200)] {
            let error = #expect(throws: PusherTestServer.ServerError.self) { try bob.send(name) }
            #expect(error?.code == .invalidEvent)
        }
    }

    @Test("fake members leave when the server shuts down")
    func shutdown() async throws {
        let server = PusherTestServer()
        try await server.start()
        try server.join("bob", in: Room.name)
        await server.shutdown()
        #expect(server.members(of: Room.name) == [])
    }
}
