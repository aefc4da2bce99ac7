import RealtimeMessagePack
import SignalRCore

/// Checks that the messages of a SignalR server have the same meaning for every split, and can be written again. When
/// the connection stops after the input, every call completes once.
///
/// Input: a byte for the protocol, a byte for the number of lengths, a byte for the length of each piece, and the bytes
/// after the handshake.
enum SignalRTarget {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let hubProtocol: HubProtocol = reader.byte().isMultiple(of: 2) ? .json : .messagePack
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let bytes = reader.remaining()
        let whole = messages(hubProtocol, [bytes])
        require(messages(hubProtocol, bytes.pieces(lengths)) == whole, "the pieces do not give \(whole)")
        for message in whole {
            let written = hubProtocol.encode(message)
            require(
                messages(hubProtocol, [written]) == [message],
                "the client does not read its own message \(message)"
            )
        }
        _ = Handshake.answer(bytes[...])
        _ = Handshake.request(bytes[...])
        _ = try? NegotiationAnswer(bytes)
        _ = try? MessagePackDecoder().decode([String: [Double?]].self, from: bytes[...])
        connect(hubProtocol, bytes.pieces(lengths))
    }

    /// Returns the messages before the first violation of the protocol.
    private static func messages(_ hubProtocol: HubProtocol, _ pieces: [[UInt8]]) -> [HubMessage] {
        var reader = HubFrameReader(limit: 4_096)
        reader.begin(hubProtocol)
        var messages: [HubMessage] = []
        do {
            for piece in pieces {
                reader.append(piece)
                while let frame = try reader.next() {
                    if let message = try hubProtocol.decode(frame) { messages.append(message) }
                }
            }
        } catch {
            return messages
        }
        return messages
    }

    /// Makes a connection with a call and a stream. The connection receives the pieces, and then stops.
    private static func connect(_ hubProtocol: HubProtocol, _ pieces: [[UInt8]]) {
        var configuration = HubStateMachine.Configuration(hubProtocol)
        configuration.maximumMessageSize = 4_096
        var machine = HubStateMachine(configuration)
        var attempt: AttemptID?
        var pending: Set<CallID> = [CallID(0), CallID(1)]
        func note(_ actions: [HubStateMachine.Action]) {
            for case .open(let id) in actions { attempt = id }
            for case .finishCall(let id, _) in actions {
                require(pending.remove(id) != nil, "the call \(id) completes twice")
            }
        }
        note(machine.start(WaiterID(1), now: .zero))
        guard let attempt else { return require(false, "the connection makes no attempt") }
        let info = TransportInfo(
            connectionID: nil,
            transport: .webSockets,
            canBeResumed: pieces.count.isMultiple(of: 2)
        )
        note(machine.opened(attempt, info, now: .zero))
        note(machine.received(attempt, Handshake.response(error: nil), now: .zero))
        note(machine.invoke(CallID(0), HubInvocation(target: "a"), now: .zero))
        note(machine.stream(CallID(1), HubInvocation(target: "b"), now: .zero))
        for piece in pieces { note(machine.received(attempt, piece, now: .zero)) }
        note(machine.stop(WaiterID(2), now: .zero))
        require(pending.isEmpty, "calls do not complete: \(pending)")
    }
}
