import ClientTestSupport
import Foundation
import PusherClient
import PusherEncryption
import PusherProtocol
import RealtimeHTTP

/// The events of a client, one line each. The first byte is the kind of event:
///
/// ```
/// T text           a message                  + name          subscribe
/// t text           its first fragment         - name          unsubscribe
/// c bytes          a fragment                 > name          a client event
/// C bytes          the last fragment          ? name          wait for a subscription
/// B bytes          a binary message           @               sign in
/// P bytes          a ping                     &               sign out
/// p bytes          a pong                     ^               connect
/// K code reason    a close frame              !               disconnect
/// R bytes          bytes as they are          W seconds       time passes
/// H digits         bytes, in hexadecimal      Z seconds       the machine sleeps
/// e name text      an encrypted event         r name          subscribe again
/// U lines, \ for   an answer to the upgrade   v               see whether the server is there
/// E                the connection ends        n               connect anew
/// A body           the next authorization is answered so
/// a status body    or so; with 0, not at all
/// X                the next connection is refused
/// y                the server ignores what the client sends, or no longer does
/// Y                it does not read it yet, or does now
/// g                it upgrades and greets, or no longer does
/// G                it greets
/// J                what is sent is held, and comes in one read at the next J
/// S lengths        what is sent comes in pieces of these lengths; whole without any
/// ```
struct ClientScript {
    let world: ClientWorld
    private var held: [UInt8]?
    private var lengths: [UInt8] = []
    private var timeLeft = 600

    init(world: ClientWorld) { self.world = world }

    mutating func run(_ line: [UInt8]) {
        guard let command = line.first else { return }
        let rest = Array(line.dropFirst())
        switch command {
        case UInt8(ascii: "T"): send(0x81, rest)
        case UInt8(ascii: "t"): send(0x01, rest)
        case UInt8(ascii: "c"): send(0x00, rest)
        case UInt8(ascii: "C"): send(0x80, rest)
        case UInt8(ascii: "B"): send(0x82, rest)
        case UInt8(ascii: "P"): send(0x89, rest)
        case UInt8(ascii: "p"): send(0x8A, rest)
        case UInt8(ascii: "K"): sendClose(rest)
        case UInt8(ascii: "R"): send(rest)
        case UInt8(ascii: "H"): send(Self.bytes(rest))
        case UInt8(ascii: "e"): sendEncrypted(rest)
        case UInt8(ascii: "J"):
            guard let bytes = held else { return held = [] }
            held = nil
            send(bytes)
        case UInt8(ascii: "S"): lengths = rest
        default: runRest(command, rest)
        }
    }

    private mutating func runRest(_ command: UInt8, _ rest: [UInt8]) {
        let client = world.client
        switch command {
        case UInt8(ascii: "U"):
            let answer = rest.text.replacingOccurrences(of: "\\", with: "\r\n")
            world.network.current?.upgrade(Array(answer.utf8))
        case UInt8(ascii: "G"): world.network.current?.greet()
        case UInt8(ascii: "E"): world.network.current?.end()
        case UInt8(ascii: "X"): world.network.refusals = min(world.network.refusals + 1, 3)
        case UInt8(ascii: "y"): world.attention = world.attention == .ignoring ? .answering : .ignoring
        case UInt8(ascii: "Y"): world.attention = world.attention == .stalled ? .answering : .stalled
        case UInt8(ascii: "g"): world.isGreeting.toggle()
        case UInt8(ascii: "+"): world.subscribe(rest.text)
        case UInt8(ascii: "-"): world.unsubscribe(rest.text)
        case UInt8(ascii: ">"):
            client?.connection.channels.find(name: rest.text)?.trigger(eventName: "client-a", data: ["b": 1])
        case UInt8(ascii: "?"):
            guard let channel = client?.connection.channels.find(name: rest.text) else { return }
            Task { _ = try? await channel.subscribed() }
        case UInt8(ascii: "r"): client?.connection.channels.find(name: rest.text)?.resubscribe()
        case UInt8(ascii: "v"): client?.checkConnection()
        case UInt8(ascii: "n"): world.reconnect()
        case UInt8(ascii: "@"): world.signIn()
        case UInt8(ascii: "&"): world.signOut()
        case UInt8(ascii: "^"): world.connect()
        case UInt8(ascii: "!"): world.disconnect()
        case UInt8(ascii: "W"): world.advance(seconds: take(rest))
        case UInt8(ascii: "Z"): world.suspend(seconds: take(rest))
        case UInt8(ascii: "A"): world.requester.append(HTTPResponse(status: 200, body: rest))
        case UInt8(ascii: "a"):
            let digits = rest.prefix { (0x30...0x39).contains($0) }.prefix(3)
            let body = Array(rest.dropFirst(digits.count))
            world.requester.append(HTTPResponse(status: Int(Array(digits).text) ?? 0, body: body))
        default: break
        }
    }

    /// The remaining seconds of a run. Without a limit, an input could run forever.
    private mutating func take(_ digits: [UInt8]) -> Int {
        let seconds = min(max(Int(digits.text) ?? 1, 0), timeLeft)
        timeLeft -= seconds
        return seconds
    }

    // MARK: Sending

    private mutating func send(_ first: UInt8, _ payload: [UInt8]) { send(ServerFrame.bytes(first, payload)) }

    private mutating func send(_ bytes: [UInt8]) {
        if held != nil {
            held? += bytes
        } else {
            world.network.current?.sendScripted(bytes.pieces(lengths))
        }
    }

    private mutating func sendClose(_ rest: [UInt8]) {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard let code = Int(Array(digits).text) else { return send(0x88, rest) }
        send(
            0x88,
            [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)] + rest.dropFirst(digits.count)
        )
    }

    /// Sealed with the key from the authorizations, unless the input says otherwise.
    private mutating func sendEncrypted(_ rest: [UInt8]) {
        let name = rest.prefix { $0 != UInt8(ascii: " ") }
        let nonce = [UInt8](repeating: 7, count: SecretBox.nonceSize)
        guard let key = SecretKey(base64: ScriptedRequester.sharedSecret),
            let box = SecretBox.seal(Array(rest.dropFirst(name.count + 1)), nonce: nonce, key: key)
        else { return }
        let data: JSONValue = [
            "nonce": .string(Data(nonce).base64EncodedString()), "ciphertext": .string(Data(box).base64EncodedString()),
        ]
        let event = Envelope(event: "a", channel: Array(name).text, data: .string(data.jsonText))
        send(ServerFrame.text(event.jsonText))
    }

    private static func bytes(_ digits: [UInt8]) -> [UInt8] {
        let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        return stride(from: 0, to: values.count - 1, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}
