import Foundation
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("Programs written for PusherSwift: events in both directions", .limited)
struct EventProgramTests {
    @Test("the app can bind callbacks to a client and a channel, and unbind them by id, by name, and all at once")
    func binding() async throws {
        try await withProgram { server, settings, journal in
            let program = BindingProgram(settings, say: journal.say)
            program.start()
            try await server.waitForSubscription(to: "my-channel", timeout: .patience)
            var ends = 0
            func publish(_ price: String) async throws {
                try server.publish(event: "new-price", data: price, to: "my-channel")
                try server.publish(event: "end", data: "", to: "my-channel")
                ends += 1
                await journal.waitFor("end", count: ends)
            }
            try await publish("1")
            #expect(journal.count(of: "global: 1 on my-channel") == 1)
            #expect(journal.count(of: "channel: 1") == 1)
            #expect(journal.count(of: "method: 1") == 1)
            program.unbindOne()
            try await publish("2")
            #expect(journal.count(of: "global: 2 on my-channel") == 0)
            #expect(journal.count(of: "channel: 2") == 0)
            #expect(journal.count(of: "method: 2") == 1)
            program.unbindName()
            try await publish("3")
            #expect(journal.count(of: "method: 3") == 0)
            program.unbindEverything()
            program.channel.bind(eventName: "after") { _ in journal.say("after") }
            try server.publish(event: "end", data: "", to: "my-channel")
            try server.publish(event: "after", data: "", to: "my-channel")
            await journal.waitFor("after")
            #expect(journal.count(of: "end") == ends)
        }
    }

    @Test("the app can read an event's data with decoders and JSONSerialization, and its other properties")
    func parsing() async throws {
        try await withProgram { server, settings, journal in
            let program = ParsingProgram(settings, say: journal.say)
            program.start()
            try await server.waitForSubscription(to: "my-channel", timeout: .patience)
            try server.publish(event: "decoded", data: #"{"name":"Pusher","price":1.5}"#, to: "my-channel")
            await journal.waitFor("Pusher at 1.5")
            try server.publish(event: "decoded", data: "no JSON", to: "my-channel")
            await journal.waitFor("no company")
            try server.publish(event: "serialized", data: #"{"name":"Pusher"}"#, to: "my-channel")
            await journal.waitFor("object: Pusher")
            server.sendText(
                #"{"event":"properties","channel":"my-channel","data":"{}","user_id":"7","tag":"blue"}"#
            )
            await journal.waitFor("properties my-channel 7 blue {}")
        }
    }

    @Test("client events wait for the subscription, are sent in order as JSON values, and fail on public channels")
    func triggering() async throws {
        try await withProgram { server, settings, journal in
            let program = TriggeringProgram(settings, say: journal.say)
            program.start()
            await journal.waitFor(#"queued: ["client-myEvent"] ["foo": "bar"]"#)
            await journal.waitFor(
                #"Client event "client-myEvent" not sent: the channel is public. Use a private or presence channel."#
            )
            try await server.nextRecord(timeout: .patience) { record in
                record.event == .messageReceived(#"{"event":"custom:hello","data":{"b":true}}"#)
            }
            try await server.nextRecord(timeout: .patience) { record in
                record.event == .clientEventRelayed(name: "client-direct", channel: "private-chat")
            }
            let clientEvents = server.receivedMessages().filter { $0.contains("client-") }
            #expect(
                clientEvents == [
                    #"{"event":"client-myEvent","data":{"foo":"bar"},"channel":"private-chat"}"#,
                    #"{"event":"client-list","data":[1,2,3],"channel":"private-chat"}"#,
                    #"{"event":"client-text","data":"hello","channel":"private-chat"}"#,
                    #"{"event":"client-direct","data":{"a":1},"channel":"private-chat"}"#,
                ]
            )
            #expect(program.myPrivateChannel.unsentEvents.isEmpty)
        }
    }

    @Test("extensions of the classes and a service for a whole app work")
    func extensions() async throws {
        try await withProgram { server, settings, journal in
            let service = PusherService(settings)
            PusherService.shared = service
            service.listen(to: "news") { json in journal.say("news: \(json["title"] ?? "-")") }
            service.start()
            try await server.waitForSubscription(to: "news", timeout: .patience)
            #expect(PusherService.shared?.state == "CONNECTED")
            try server.publish(event: "message", data: #"{"title":"first"}"#, to: "news")
            await journal.waitFor("news: first")
            #expect(service.received == 1)
            service.stop()
            PusherService.shared = nil
        }
    }
}
