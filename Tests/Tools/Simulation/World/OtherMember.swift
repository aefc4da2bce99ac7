import NIOConcurrencyHelpers
import PusherProtocol
import PusherTestServer

/// Another member of a presence channel, over a network that never fails.
final class OtherMember: Sendable {
    let channel: String
    private let userID: String
    private let server: InMemoryServer
    private let link = NIOLockedValueBox<InMemoryLink?>(nil)
    private let ownSocketID = NIOLockedValueBox<String?>(nil)

    init(_ userID: String, on channel: String, server: InMemoryServer, loop: SimulatedEventLoop) {
        self.userID = userID
        self.channel = channel
        self.server = server
        let target = "/app/\(server.server.options.application.key)?protocol=7"
        link.withLockedValue { link in
            link = server.open(.init(target: target), on: loop) { [weak self] event in self?.received(event) }
        }
    }

    /// The member's socket id; nil before the server has sent it.
    var socketID: String? { ownSocketID.withLockedValue { $0 } }

    func leave() { link.withLockedValue { $0 }?.abort() }

    func speak(_ number: Int) {
        let message = Envelope(event: "client-said", channel: channel, data: .string(EventNumber.text(number)))
        link.withLockedValue { $0 }?.send(message.jsonText)
    }

    private func received(_ event: InMemoryLink.Event) {
        guard case .text(let text) = event, let envelope = try? Envelope(decoding: Array(text.utf8).span),
            envelope.event == EventName.connectionEstablished,
            let socketID = envelope.data.value?["socket_id"]?.string
        else { return }
        ownSocketID.withLockedValue { $0 = socketID }
        let data = #"{"user_id":"\#(userID)"}"#
        let authorization = server.server.authorization(forSocket: socketID, channel: channel, channelData: data)
        let message = Envelope.subscribe(channel: channel, auth: authorization.auth, channelData: data)
        link.withLockedValue { $0 }?.send(message.jsonText)
    }
}
