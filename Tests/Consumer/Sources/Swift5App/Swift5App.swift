import Foundation
import PusherClient

/// An app that was written for PusherSwift, with a delegate, a callback and the main queue.
package class Swift5App: PusherDelegate {
    let pusher: Pusher
    var states: [ConnectionState] = []
    var whenReceived: ((String) -> Void)?

    package init(key: String, host: String, port: Int) {
        let options = PusherClientOptions(
            authMethod: .endpoint(authEndpoint: "http://\(host):\(port)/pusher/auth"),
            host: .host(host),
            port: port,
            useTLS: false
        )
        pusher = Pusher(key: key, options: options)
        pusher.delegate = self
    }

    package func start(_ whenReceived: @escaping (String) -> Void) {
        self.whenReceived = whenReceived
        let channel = pusher.subscribe("private-orders")
        channel.bind(eventName: "created") { [weak self] event in
            self?.whenReceived?(event.data ?? "")
            self?.pusher.disconnect()
        }
        pusher.connect()
    }

    package func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        states.append(new)
    }

    package func subscribedToChannel(name: String) {
        print("Swift 5 mode: subscribed to \(name), states: \(states.map { $0.stringValue() })")
    }
}
