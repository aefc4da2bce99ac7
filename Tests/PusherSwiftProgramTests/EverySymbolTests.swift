import Foundation
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("Every public Swift symbol of PusherSwift", .limited)
struct EverySymbolTests {
    @Test("a program can use every symbol that is not deprecated")
    func current() async throws {
        var serverOptions = PusherTestServer.Options()
        serverOptions.clientEventsPerSecond = nil
        try await withProgram(options: serverOptions) { server, settings, journal in
            let program = EverySymbolProgram(settings, say: journal.say)
            #expect(
                program.useOptions() == [
                    "true ws.pusherapp.com 443 true", "none", "app-secret", "0.0 -", "ws.pusherapp.com", "a",
                    "ws-eu.pusher.com",
                ]
            )
            #expect(
                program.useAuthMethods() == ["POST", "e", "AuthRequestBuilder", "SilentAuthorizer", "s", "none"]
            )
            #expect(
                program.useEnumerations() == [
                    "0 connecting", "1 connected", "2 disconnecting", "3 disconnected", "4 reconnecting", "presence",
                    "private", "normal", "reconnecting", "true",
                ]
            )
            #expect(program.useValues() == ["a c s -", "1 Ada true"])
            program.usePusher()
            await journal.waitFor("authorizer true")
            await journal.waitFor("labels tenth presence-sixth")
            await journal.waitFor("bound true first presence-first")
            await journal.waitFor("state 0 1 connected")
            await journal.waitFor("subscribed to presence-sixth")
            await journal.waitFor("subscribed to first")
            await journal.waitFor("subscribed to presence-first")
            server.sendText(
                #"{"event":"every-symbol","channel":"first","data":"d","user_id":"u"}"#
            )
            await journal.waitFor("event first d u true every-symbol true")
            program.useChannels()
            await journal.waitFor("channels true true true true")
            await journal.waitFor("handlers 1 2 0 0")
            await journal.waitFor("count -1 unused true")
            await journal.waitFor("room 1 true true []")
            try await server.nextRecord(timeout: .patience) { record in
                record.event
                    == .messageReceived(
                        #"{"event":"client-every-symbol","data":{"x":1},"channel":"presence-first"}"#
                    )
            }
            program.useConnection()
            await journal.waitFor("connection true app-key true true connected")
            await journal.waitFor("settings true 0 5 10.0 [20.0, 40.0] true")
            await journal.waitFor("global pusher_global_internal_channel true 1")
            await journal.waitFor("global callbacks 0")
            try await server.nextRecord(timeout: .patience) {
                $0.event == .messageReceived(#"{"event":"every:symbol","data":{"a":1}}"#)
            }
            program.leave()
            #expect(program.pusher.connection.channels.channels.isEmpty)
            await journal.waitFor("state 2 3 disconnected")
        }
    }

    @Test("a program can use every deprecated symbol")
    @available(*, deprecated)
    func deprecated() async throws {
        try await withProgram { server, settings, journal in
            let program = DeprecatedSymbolsProgram(say: journal.say)
            let pusher = program.start(settings)
            await journal.waitFor("returns objects: false true")
            await journal.waitFor("3 7.0")
            await journal.waitFor("3 7")
            await journal.waitFor { $0.hasPrefix("wss://ws.pusherapp.com:443/app/app-key?") }
            await journal.waitFor("detached: false a true")
            try await server.waitForSubscription(to: "my-channel", timeout: .patience)
            try server.publish(event: "first", data: #"{"a":1}"#, to: "my-channel")
            await journal.waitFor(#"first 3 {"a":1}"#)
            server.sendText(#"{"event":"pusher:error","data":{"code":4301,"message":"slow down"}}"#)
            await journal.waitFor("error 4301 slow down", count: 2)
            pusher.disconnect()
        }
    }
}
