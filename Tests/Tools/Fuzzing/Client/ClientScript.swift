import ClientTestSupport
import Foundation
import PusherClient
import PusherEncryption
import PusherProtocol
import RealtimeHTTP

/// The commands for a client and its server, one on each line. The first byte is the kind of command:
///
/// ```
/// T text           send a message             + name          subscribe
/// t text           send the first fragment    - name          unsubscribe
/// c bytes          send a middle fragment     > name          send a client event
/// C bytes          send the last fragment     ? name          wait for a subscription
/// B bytes          send a binary message      @               sign in
/// P bytes          send a ping                &               sign out
/// p bytes          send a pong                ^               connect
/// K code reason    send a close frame         !               disconnect
/// R bytes          send the bytes unchanged   W seconds       advance the time
/// H digits         send hexadecimal bytes     Z seconds       suspend the machine
/// e name text      send an encrypted event    r name          subscribe again
/// U lines          answer the upgrade         v               check the connection
/// E                drop the connection        n               reconnect
/// A body           answer the next authorization with status 200 and this body
/// a status body    answer the next authorization with this status and body; with status 0, fail the request
/// X                refuse the next connection
/// y                let the server ignore the client's messages, or answer them again
/// Y                let the server stop reading, or read again
/// g                turn the server's automatic upgrade and greeting on or off
/// G                send the greeting
/// J                hold the server's bytes back; the next J sends them together
/// S lengths        send the server's bytes in pieces of these lengths; without lengths, in one piece
/// ```
/// In an answer to the upgrade, each backslash becomes a line break.
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

    /// Takes seconds from the remaining time of a run. Without a limit, an input could run forever.
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

    /// Sends an event that is encrypted with the key of the requester's own authorizations.
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
