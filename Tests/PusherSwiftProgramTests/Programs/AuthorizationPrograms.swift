// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals

import Foundation
import PusherClient

/// The program for the section "Authenticated channels" of PusherSwift's documentation, with each auth method.
class AuthorizationProgram {
    var pusher: Pusher! = nil
    let say: (String) -> Void

    init(_ settings: Settings, authMethod: AuthMethod, say: @escaping (String) -> Void) {
        self.say = say
        let options = PusherClientOptions(
            authMethod: authMethod,
            host: .host(settings.host),
            port: settings.port,
            useTLS: false
        )
        pusher = Pusher(key: settings.key, options: options)
    }

    func start(channelNames: [String]) {
        for channelName in channelNames {
            let channel = pusher.subscribe(channelName)
            channel.bind(
                eventName: "pusher:subscription_succeeded",
                eventCallback: { (event: PusherEvent) -> Void in
                    self.say("subscribed to \(event.channelName!)")
                }
            )
            channel.bind(
                eventName: "pusher:subscription_error",
                eventCallback: { event in
                    self.say("refused: \(channel.name) \(event.data ?? "nil")")
                }
            )
        }
        pusher.connect()
    }
}

class AuthRequestBuilder: AuthRequestBuilderProtocol {
    let url: String

    init(url: String) {
        self.url = url
    }

    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        var request = URLRequest(url: URL(string: url)!)
        request.httpMethod = "POST"
        request.httpBody = "socket_id=\(socketID)&channel_name=\(channelName)".data(using: String.Encoding.utf8)
        request.addValue("myToken", forHTTPHeaderField: "Authorization")
        return request
    }
}

/// A request builder that returns no request.
class PickyRequestBuilder: AuthRequestBuilderProtocol {
    private let lock = NSLock()
    private var asked = 0

    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        lock.lock()
        asked += 1
        lock.unlock()
        return nil
    }
}

/// An authorizer that sends its own requests to the backend, and has mutable state.
class BackendAuthorizer: Authorizer {
    private let sign: (String, String, @escaping (String, String?) -> Void) -> Void
    private let queue = DispatchQueue(label: "requests")
    private var requests: [String] = []

    init(sign: @escaping (String, String, @escaping (String, String?) -> Void) -> Void) {
        self.sign = sign
    }

    func fetchAuthValue(socketID: String, channelName: String, completionHandler: @escaping (PusherAuth?) -> Void) {
        queue.sync { requests.append(channelName) }
        sign(socketID, channelName) { auth, channelData in
            completionHandler(PusherAuth(auth: auth, channelData: channelData))
        }
    }
}

class SilentAuthorizer: NSObject, Authorizer {
    func fetchAuthValue(socketID: String, channelName: String, completionHandler: @escaping (PusherAuth?) -> ()) {
        DispatchQueue.global().async {
            completionHandler(nil)
        }
    }
}
