import Foundation
import PusherClient

/// A delegate that the client calls on the callback queue of its options.
final class Recorder: PusherDelegate {
    private let say: @Sendable (String) -> Void

    init(say: @escaping @Sendable (String) -> Void) { self.say = say }

    func subscribedToChannel(name: String) { say("recorded \(name)") }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        say("refused \(name) \((response as? HTTPURLResponse)?.statusCode ?? 0)")
    }
}

/// An authorizer that any thread can use.
struct TokenAuthorizer: Authorizer {
    let answer: @Sendable (_ socketID: String, _ channelName: String) -> PusherAuth?

    func fetchAuthValue(
        socketID: String,
        channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    ) {
        completionHandler(answer(socketID, channelName))
    }
}

final class TokenRequestBuilder: AuthRequestBuilderProtocol {
    private let url: URL
    private let token: String

    init?(url: String, token: String) {
        guard let url = URL(string: url) else { return nil }
        self.url = url
        self.token = token
    }

    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("socket_id=\(socketID)&channel_name=\(channelName)".utf8)
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        return request
    }
}
