import Foundation
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// PusherSwift's tests of incoming events.
@Suite("PusherSwift: incoming events", .limited)
struct PusherSwiftEventTests {
    /// Who listens.
    enum Listener: CaseIterable { case channel, client }

    let world = VirtualWorld()

    /// Returns the events that a listener gets after these messages.
    private func events(for listener: Listener, _ messages: [String]) async throws -> [PusherEvent] {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("my-channel")
        await world.run()
        let events = Log<PusherEvent>()
        switch listener {
        case .channel: channel.bind(eventName: "test-event") { events.append($0) }
        case .client: pusher.bind { events.append($0) }
        }
        for message in messages { world.server.sendText(message) }
        await world.run()
        return events.elements
    }

    private func message(_ rest: String, channel: String? = "my-channel") -> String {
        let channel = channel.map { #","channel":"\#($0)""# } ?? ""
        return #"{"event":"test-event"\#(channel)\#(rest)}"#
    }

    @Test(
        "callbacks of a channel and of the client get an event with its name, channel and data",
        arguments: Listener.allCases
    )
    func event(listener: Listener) async throws {
        let data = #"{"test":"test string","and":"another"}"#
        let message = message(#","data":"{\"test\":\"test string\",\"and\":\"another\"}""#)
        let events = try await events(for: listener, [message])
        let event = try #require(events.first)
        #expect(events.count == 1)
        #expect(event.eventName == "test-event")
        #expect(event.channelName == "my-channel")
        #expect(event.data == data)
        #expect(event.userId == nil)
        #expect(event.property(withKey: "event") as? String == "test-event")
        #expect(event.property(withKey: "channel") as? String == "my-channel")
        #expect(event.property(withKey: "data") as? String == data)
        #expect(event.property(withKey: "random-key") == nil)
    }

    @Test("the client's callbacks get an event without a channel, and its channel name is nil")
    func withoutChannel() async throws {
        let events = try await events(for: .client, [message(#","data":"{\"test\":\"x\"}""#, channel: nil)])
        #expect(events.map(\.eventName) == ["test-event"])
        #expect(events.map(\.channelName) == [nil])
        #expect(events.map(\.data) == [#"{"test":"x"}"#])
        #expect(events.first?.property(withKey: "channel") == nil)
    }

    @Test("an event's data is the text that was sent, and the app can decode JSON data")
    func data() async throws {
        let events = try await events(
            for: .channel,
            [
                message(#","data":"{\"test\":\"test string\",\"and\":\"another\"}""#),
                message(#","data":"[\"test\",\"and\"]""#), message(#","data":"test""#),
            ]
        )
        try #require(events.count == 3)
        #expect(
            events.map(\.data) == [#"{"test":"test string","and":"another"}"#, #"["test","and"]"#, "test"]
        )
        #expect(try events[0].decode(as: [String: String].self) == ["test": "test string", "and": "another"])
        #expect(try events[1].decode(as: [String].self) == ["test", "and"])
        #expect(throws: PusherClientError.self) { try events[2].decode(as: [String: String].self) }
        #expect(events[2].property(withKey: "data") as? String == "test")
    }

    @Test("an event has the user id of its message")
    func userID() async throws {
        let events = try await events(for: .channel, [message(#","data":"{}","user_id":"user123""#)])
        #expect(events.map(\.userId) == ["user123"])
        #expect(events.first?.property(withKey: "user_id") as? String == "user123")
    }

    @Test("an event returns the other members of its message by their keys")
    func properties() async throws {
        let rest = #"""
            ,"data":"{}","text":"string123","whole":1234567,"yes":true,"list":[1,2,3],"object":{"key":"value"},"none":null
            """#
        let events = try await events(for: .channel, [message(rest)])
        let event = try #require(events.first)
        #expect(event.property(withKey: "text") as? String == "string123")
        #expect(event.property(withKey: "whole") as? Int == 1_234_567)
        #expect(event.property(withKey: "yes") as? Bool == true)
        #expect(event.property(withKey: "list") as? [Int] == [1, 2, 3])
        #expect(event.property(withKey: "object") as? [String: String] == ["key": "value"])
        #expect(event.property(withKey: "none") is NSNull)
    }

    @Test("the client reports a message without an event name, which reaches no callback")
    func withoutName() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let channel = pusher.subscribe("my-channel")
        await world.run()
        let events = Log<PusherEvent>()
        pusher.bind { events.append($0) }
        channel.bind { events.append($0) }
        world.server.sendText(#"{"channel":"my-channel","data":"{\"test\":\"test string\"}"}"#)
        await world.run()
        #expect(events.elements.isEmpty)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.malformedMessage])
    }
}
