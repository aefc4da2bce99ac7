import ClientTestSupport
import Foundation
import Logging
import PusherEncryption
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// Tests that no secret is in the log, at any level, or in a printed value after a failure.
@Suite("Secrets after failures: logs and printed values", .limited, .needsSodium, .overEachTransport)
struct SecrecyOfFailuresTests {
    /// The master key, which consists of the bytes 100 to 131.
    private static let masterKey = Data(100...131).base64EncodedString()
    private static let names = ["private-a", "presence-a", "private-encrypted-a"]

    enum Trouble: String, CaseIterable, Sendable {
        case none, refused, failing, garbage, incomplete, wrongKinds, wrongSignature, wrongSecret, unanswered, dropped
        case redirected, cut

        var fault: PusherTestServer.AuthorizationFault? {
            let cookie = HTTPHeader(name: "Set-Cookie", value: "session=hush-answer")
            let place = HTTPHeader(name: "Location", value: "http://other.test/?token=hush-place")
            let signature = String(repeating: "0123456789abcdef", count: 4)
            return switch self {
            case .none: nil
            case .refused: .status(403, headers: [cookie], body: "no")
            case .failing: .status(503, headers: [cookie], body: "no")
            case .garbage: .body("no JSON, but a signature: \(signature)")
            case .incomplete: .body(#"{"auth":"app-key:\#(signature)"}"#)
            case .wrongKinds:
                .body(#"{"auth":"app-key:\#(signature)","channel_data":{"hush":1},"user_data":{},"shared_secret":5}"#)
            case .wrongSignature: .wrongSignature
            case .wrongSecret: .wrongSharedSecret
            case .unanswered: .unanswered
            case .dropped: .dropped
            case .redirected: .status(302, headers: [place], body: "")
            case .cut: .body(#"{"auth":"app-key:\#(signature)","more":"\#(String(repeating: "hush", count: 1_000))"}"#)
            }
        }
    }

    /// A collection of all strings that a client shows.
    private final class Display: PusherDelegate {
        let lines = LogLines()
        let printed = Log<String>()

        var texts: [String] { lines.messages + printed.elements }

        func show(_ value: Any) { for form in PrintedForms.of(value) { printed.append(form) } }

        func debugLog(message: String) { printed.append(message) }
        func receivedError(error: PusherError) { show(error) }
        func failedToDecryptEvent(eventName: String, channelName: String, data: String?) { show(eventName) }
        func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
            if let response { show(response) }
            if let data { show(data) }
            if let error { show(error) }
        }
    }

    /// Records an issue for every secret in the shown strings.
    private func search(_ display: Display, for secrets: [String]) {
        for text in display.texts {
            for line in text.split(separator: "\n") {
                let secret = SecretSearch.secret(in: String(line)) ?? secrets.first { line.contains($0) }
                if let secret { Issue.record("\(secret) is shown: \(line)") }
            }
        }
    }

    /// Returns the written forms of a key: base64 with and without padding, hexadecimal digits, and a list of numbers.
    private func forms(ofKey base64: String) -> [String] {
        let bytes = [UInt8](Data(base64Encoded: base64) ?? Data())
        return [
            String(base64.prefix(40)), bytes.prefix(16).map { String(format: "%02x", $0) }.joined(),
            bytes.prefix(6).map { "\($0)" }.joined(separator: ", "),
        ]
    }

    private func makeServerOptions() -> PusherTestServer.Options {
        var options = PusherTestServer.Options()
        options.application.secret = "hush-application"
        options.encryptionMasterKey = Self.masterKey
        return options
    }

    private func secrets() -> [String] {
        let keys = Self.names.compactMap { name in
            SecretKey(base64: Self.masterKey).map { SharedSecret.base64(channel: name, masterKey: $0) }
        }
        return ([Self.masterKey] + keys).flatMap { forms(ofKey: $0) }
    }

    /// Prints everything that a client with these options reports and returns.
    private func run(
        _ world: VirtualWorld,
        _ display: Display,
        _ authMethod: AuthMethod,
        _ userAuthMethod: UserAuthMethod
    ) async throws {
        let options = PusherClientOptions(
            authMethod: authMethod,
            host: .host("server.test"),
            useTLS: false,
            userAuthMethod: userAuthMethod,
            retryPolicy: .delays([.seconds(1)]),
            requestRetryPolicy: .delays([.seconds(1), .seconds(1)], repeatsLast: false),
            proxy: .server(host: "127.77.0.1", port: 9, credentials: .init(username: "ada", password: "hush-proxy")),
            headers: ["Authorization": "Bearer hush-upgrade", "Cookie": "hush-upgrade-cookie"],
            queryItems: [URLQueryItem(name: "token", value: "hush-query")],
            limits: .init(authorizationResponseSize: 2_000),
            callbackQueue: .eventLoop,
            logger: display.lines.logger(.trace)
        )
        var pusher: Pusher? = world.makeUnheldClient(options)
        pusher?.delegate = display
        let errors = pusher?.errors
        let statuses = pusher?.statuses
        var channels = Self.names.compactMap { pusher?.subscribe($0) }
        let waits = channels.map { channel in
            Task {
                do { try await channel.subscribed() } catch { display.show(error) }
            }
        }
        // The calls must wait before the test continues. On a busy machine, a call could otherwise begin after the
        // client has disconnected, and would never return.
        await world.runUntil {
            pusher?.engine.read { $0.machine.wantedSubscriptions.allSatisfy { $0.waiters.count == 1 } } != false
        }
        pusher?.signIn()
        pusher?.connect()
        // The time is enough for every try and for the timeouts.
        for _ in 1...40 {
            await world.run()
            await world.advance(by: .seconds(1))
        }
        try world.server.publish(event: "created", data: "plain", to: "private-encrypted-a")
        await world.run()
        world.server.rotateEncryptionKey()
        try world.server.publish(event: "created", data: "plain", to: "private-encrypted-a")
        world.server.sendEvent(
            "created",
            data: #"{"nonce":"AAAA","ciphertext":"AAAA"}"#,
            channel: "private-encrypted-a"
        )
        await world.advance(by: .seconds(30))
        world.server.failConnections(2, with: .error(code: 4200, message: "Invalid signature: but got hush-echo"))
        world.server.dropConnections()
        await world.advance(by: .seconds(1))
        world.server.failConnections(1, with: .refused(status: 401))
        await world.advance(by: .seconds(20))
        for value in [pusher as Any, pusher?.connection as Any, options, authMethod, userAuthMethod, channels] {
            display.show(value)
        }
        pusher?.disconnect()
        await world.run()
        for wait in waits { try await world.complete { await wait.value } }
        channels = []
        pusher = nil
        await world.run()
        if let errors { for await error in errors { display.show(error) } }
        if let statuses { for await status in statuses { display.show(status) } }
        #expect(display.lines.messages.count > 10)
    }

    @Test("failed requests show no token, cookie or parameter", arguments: Trouble.allCases)
    func endpoints(trouble: Trouble) async throws {
        let world = VirtualWorld(makeServerOptions())
        if let fault = trouble.fault {
            world.server.failAuthorizations(with: fault)
            world.server.failUserAuthentications(with: fault)
        }
        let headers = ["Authorization": "Bearer hush-token", "Cookie": "session=hush-cookie"]
        let display = Display()
        try await run(
            world,
            display,
            .endpoint(
                AuthEndpoint(
                    VirtualWorld.authEndpoint + "?key=hush-query",
                    headers: headers,
                    parameters: ["user_id": "ada", "csrf": "hush-parameter"]
                )
            ),
            .endpoint(
                AuthEndpoint(
                    VirtualWorld.userEndpoint,
                    headers: headers,
                    parameters: ["user_id": "ada", "user_info": #"{"note":"hush-user"}"#]
                )
            )
        )
        search(display, for: secrets())
    }

    @Test(
        "the client shows none of the signatures that it makes, valid or invalid",
        arguments: ["hush-application", "hush-other"]
    )
    func inline(secret: String) async throws {
        let world = VirtualWorld(makeServerOptions())
        let display = Display()
        try await run(
            world,
            display,
            .inline(secret: secret, encryptionMasterKey: Self.masterKey),
            .inline(secret: secret) { #"{"id":"ada","user_info":{"note":"hush-user"}}"# }
        )
        search(display, for: secrets())
    }

    @Test("the client shows no secret in an error that an authorizer throws")
    func throwing() async throws {
        // The client keeps the app's error as a cause, and does not show the error's message.
        struct Failure: Error, CustomStringConvertible { var description: String { "hush-thrown" } }
        let lines = LogLines()
        let world = VirtualWorld(makeServerOptions())
        let pusher = try await world.makeConnectedClient(
            .virtual(
                authMethod: .authorizer { _ in throw Failure() },
                userAuthMethod: .authenticator { _ in throw Failure() },
                requestRetryPolicy: .delays([.seconds(1)], repeatsLast: false),
                logger: lines.logger(.trace)
            )
        )
        let errors = pusher.errors
        for name in Self.names {
            let waiting = Task { try await pusher.subscribe(name).subscribed() }
            await endTries(of: pusher, in: world)
            let error = await #expect(throws: SubscriptionError.self) {
                try await world.complete { try await waiting.value }
            }
            #expect(error?.description.contains("hush") == false)
        }
        let waiting = Task { try await pusher.signedIn() }
        await endTries(of: pusher, in: world)
        await #expect(throws: PusherClientError.self) { try await world.complete { try await waiting.value } }
        var iterator = errors.makeAsyncIterator()
        for _ in 1...4 { #expect(await iterator.next()?.description.contains("hush") == false) }
        for line in lines.messages { #expect(SecretSearch.secret(in: line) == nil) }
    }

    /// Lets the client make its second try, after which the policy of the client stops.
    private func endTries(of pusher: Pusher, in world: VirtualWorld) async {
        await world.runUntil {
            pusher.engine.read { state in
                guard let retries = state.machine.session?.retries else { return false }
                return retries.subjects.contains { retries[$0]?.phase == .waiting }
            }
        }
        await world.advance(by: .seconds(1))
    }

    @Test("the search finds shown secrets")
    func search() {
        let signature = String(repeating: "0123456789abcdef", count: 4)
        for text in [
            "x hush x", "x\0hush", "app-secret", "auth: app-key:\(signature)", Self.masterKey.lowercased() + "hush",
        ] {
            #expect(SecretSearch.secret(in: text) != nil)
        }
        #expect(SecretSearch.secret(in: String(signature.dropLast()) + "x") == nil)
        struct Open: Error { let token = "hush" }
        #expect(PrintedForms.of(Open()).contains { SecretSearch.secret(in: $0) != nil })
    }
}
