import Dispatch
import Foundation
import PusherEncryption
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Reports of a failed subscription", .limited)
struct FailureReportTests {
    let world = VirtualWorld()

    struct Cause: Sendable {
        var method: AuthMethod
        var channel = "private-orders"
        var fault: PusherTestServer.AuthorizationFault?
        /// A part of the error's message.
        var words: String
    }

    private struct NoRequest: AuthRequestBuilderProtocol {
        func requestFor(socketID: String, channelName: String) -> URLRequest? { nil }
    }

    private struct NoAnswer: Authorizer {
        func fetchAuthValue(
            socketID: String,
            channelName: String,
            completionHandler: @escaping @Sendable (PusherAuth?) -> Void
        ) { completionHandler(nil) }
    }

    private static let endpoint = AuthMethod.endpoint(authEndpoint: VirtualWorld.authEndpoint)
    private static let bare = AuthMethod.authorizer { _ in PusherAuth(auth: "app-key:0") }

    static let causes = [
        Cause(method: .noMethod, words: "authMethod"),
        Cause(method: .noMethod, channel: "no name", words: "no name"),
        Cause(method: .authRequestBuilder(authRequestBuilder: NoRequest()), words: "the request builder gave nil"),
        Cause(method: .authorizer(authorizer: NoAnswer()), words: "the authorizer gave nil"),
        Cause(method: .endpoint(authEndpoint: "no URL"), words: "no URL"),
        Cause(method: endpoint, fault: .status(403, body: "no entry"), words: "403"),
        Cause(method: endpoint, fault: .body("<html>"), words: "is an HTML page"),
        Cause(method: endpoint, fault: .body("{}"), words: #"has no "auth""#),
        Cause(method: bare, channel: "presence-room", words: "channel_data"),
        Cause(
            method: bare,
            channel: "private-encrypted-orders",
            words: SecretBox.isAvailable ? "shared_secret" : "options.secretBox"
        ),
    ]

    @Test(
        "the callback queue gets the event and then the delegate's call, after subscribe(_:) has returned",
        arguments: causes
    )
    func told(cause: Cause) async throws {
        final class Observer: PusherDelegate {
            let note: @Sendable (String) -> Void
            init(note: @escaping @Sendable (String) -> Void) { self.note = note }
            func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
                note("\(name): \(error?.localizedFailureReason ?? "")")
            }
        }
        let queue = DispatchQueue(label: "callbacks")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let told = Log<String>()
        let isOnQueue = Log<Bool>()
        let note: @Sendable (String) -> Void = { text in
            isOnQueue.append(DispatchQueue.getSpecific(key: key) == true)
            told.append(text)
        }
        if let fault = cause.fault { world.server.failAuthorizations(with: fault) }
        let pusher = try await world.makeConnectedClient(
            .virtual(authMethod: cause.method, callbackQueue: .queue(queue))
        )
        let delegate = Observer(note: note)
        pusher.delegate = delegate
        pusher.bind(eventName: "pusher:subscription_error") { note("event: \($0.channelName ?? "")") }
        queue.sync {
            pusher.subscribe(cause.channel)
            note("returned")
        }
        await world.runUntil { told.count >= 3 }
        #expect(told.elements.prefix(2) == ["returned", "event: \(cause.channel)"])
        #expect(told.elements.last?.hasPrefix("\(cause.channel): ") == true)
        #expect(told.elements.last?.contains(cause.words) == true, "\(told.elements)")
        #expect(isOnQueue.elements == [true, true, true])
    }
}
