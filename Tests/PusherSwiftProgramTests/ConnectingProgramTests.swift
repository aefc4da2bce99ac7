import Foundation
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("Programs written for PusherSwift: configuration and connection", .limited)
struct ConnectingProgramTests {
    @Test("the server gets the options, and the URLs equal PusherSwift's URLs")
    func configuration() async throws {
        try await withProgram { server, settings, _ in
            let program = ConfigurationProgram(settings)
            program.start()
            let connection = try await server.waitForConnections(timeout: .patience)[0]
            #expect(connection.request.path == "/realtime/app/app-key")
            let options = program.pusher.connection.options
            #expect(options.autoReconnect == false)
            #expect(options.activityTimeout == 25)
            #expect(program.pusher.connection.activityTimeoutInterval == 25)
        }
        let query = { (url: String) in url.components(separatedBy: "?") }
        #expect(query(ConfigurationProgram.clusterURL())[0] == "wss://ws-eu.pusher.com:443/app/APP_KEY")
        #expect(query(ConfigurationProgram.defaultURL())[0] == "wss://ws.pusherapp.com:443/app/APP_KEY")
        #expect(query(ConfigurationProgram.plainURL())[0] == "ws://ws.pusherapp.com:80/app/APP_KEY")
        #expect(query(ConfigurationProgram.plainURL())[1].hasSuffix("&protocol=7"))
    }

    @Test(
        "an ordinary class that is the connection delegate gets every call, and each method is optional",
        .needsSodium
    )
    func delegate() async throws {
        var serverOptions = PusherTestServer.Options()
        serverOptions.authorizeChannel = { request in
            request.channel == "private-closed" ? .refuse(status: 403, body: "no entry") : .allow()
        }
        try await withProgram(options: serverOptions) { server, settings, journal in
            let program = ConnectionDelegateProgram(settings, say: journal.say)
            _ = program.pusher.subscribe("private-open")
            _ = program.pusher.subscribe("private-closed")
            let encrypted = program.pusher.subscribe("private-encrypted-a")
            program.pusher.connect()
            await journal.waitFor("disconnected -> connecting")
            await journal.waitFor("connecting -> connected")
            await journal.waitFor("subscribed to private-open")
            await journal.waitFor("failed to subscribe to private-closed: 403, no entry, true")
            await journal.waitFor("subscribed to private-encrypted-a")
            server.sendEvent("secret", data: #"{"nonce":"x","ciphertext":"y"}"#, channel: encrypted.name)
            await journal.waitFor("cannot decrypt secret of private-encrypted-a: true")
            server.sendText(#"{"event":"pusher:error","data":{"code":4301,"message":"too fast"}}"#)
            await journal.waitFor("error (4301): too fast")
            #expect(program.delegate.logLines > 0)

            program.pusher.disconnect()
            await journal.waitFor("disconnecting -> disconnected")
            program.pusher.connection.connect()
            await journal.waitFor("subscribed to private-open", count: 2)
            program.pusher.connection.disconnect()
            await journal.waitFor("disconnecting -> disconnected", count: 2)
            let quiet = QuietDelegate(say: journal.say)
            program.pusher.delegate = quiet
            program.pusher.connect()
            try await server.waitForSubscription(to: "private-open", timeout: .patience)
            server.sendText(#"{"event":"pusher:error","data":{"code":4301,"message":"slow down"}}"#)
            await journal.waitFor("quiet: slow down")
        }
    }

    @Test("a screen that is its client's delegate gets calls on the main queue, and can capture any value")
    func viewController() async throws {
        try await withProgram { server, settings, journal in
            let controller = await MainActor.run { () -> ViewController in
                let controller = ViewController()
                controller.settings = settings
                controller.say = journal.say
                controller.viewDidLoad()
                return controller
            }
            await journal.waitFor("disconnected to connecting")
            await journal.waitFor("subscribed to my-channel")
            await journal.waitFor("subscribed to presence-channel")
            try server.publish(event: "my-event", data: "a", to: "my-channel")
            await journal.waitFor("1: a")
            try server.publish(event: "my-event", data: "b", to: "my-channel")
            await journal.waitFor("2: b")
            try server.publish(event: "test-event", data: "c", to: "presence-channel")
            await journal.waitFor("test-event on presence-channel")

            let options = PusherClientOptions(
                authMethod: .inline(secret: server.options.application.secret),
                host: .host(server.host),
                port: server.port,
                useTLS: false
            )
            let other = Pusher(key: server.options.application.key, options: options)
            other.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "ada") }
            _ = other.subscribe("presence-channel")
            other.connect()
            await journal.waitFor("ada joined")
            await MainActor.run { controller.disconnectButton(controller) }
            await journal.waitFor("connected to disconnecting")
            #expect(await MainActor.run { controller.title == controller.labels.last })
            other.disconnect()
        }
    }

    @Test("the app can set the properties for reconnecting, and the client respects the limit on attempts")
    func reconnection() async throws {
        try await withProgram { server, settings, journal in
            let program = ReconnectionProgram(settings, say: journal.say)
            program.start()
            await journal.waitFor("connected 1")
            server.dropConnections()
            await journal.waitFor("reconnecting")
            await journal.waitFor("connected 2")
            #expect(program.pusher.connection.activityTimeoutInterval == 30)
            #expect(program.pusher.connection.pongResponseTimeoutInterval == 5)
            program.giveUp()
            let before = journal.count(of: "disconnected")
            server.dropConnections()
            await journal.waitFor("disconnected", count: before + 1)
            #expect(journal.count(of: "reconnecting") == 1)
            #expect(program.pusher.connection.connectionState == .disconnected)
        }
    }
}
