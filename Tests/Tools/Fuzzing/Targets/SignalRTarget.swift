import RealtimeMessagePack
import SignalRCore

/// The messages of a SignalR server mean the same however they are split, can be written again, and leave no call
/// without an end.
///
/// Input: a byte for the protocol, the number of bytes with the lengths of pieces, those bytes, and the bytes after the
/// handshake.
enum SignalRTarget {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let hubProtocol: HubProtocol = reader.byte().isMultiple(of: 2) ? .json : .messagePack
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let bytes = reader.remaining()
        let whole = messages(hubProtocol, [bytes])
        require(messages(hubProtocol, bytes.pieces(lengths)) == whole, "in pieces it is not \(whole)")
        for message in whole {
            let written = hubProtocol.encode(message)
            require(messages(hubProtocol, [written]) == [message], "\(message) is not read as it was written")
        }
        _ = Handshake.answer(bytes[...])
        _ = Handshake.request(bytes[...])
        _ = try? NegotiationAnswer(bytes)
        _ = try? MessagePackDecoder().decode([String: [Double?]].self, from: bytes[...])
        connect(hubProtocol, bytes.pieces(lengths))
    }

    /// The messages before the first violation of the protocol.
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

    /// A connection with a call and a stream, which receives the pieces.
    private static func connect(_ hubProtocol: HubProtocol, _ pieces: [[UInt8]]) {
        var configuration = HubStateMachine.Configuration(hubProtocol)
        configuration.maximumMessageSize = 4_096
        var machine = HubStateMachine(configuration)
        var attempt: AttemptID?
        var pending: Set<CallID> = [CallID(0), CallID(1)]
        func note(_ actions: [HubStateMachine.Action]) {
            for case .open(let id) in actions { attempt = id }
            for case .finishCall(let id, _) in actions {
                require(pending.remove(id) != nil, "the call \(id) ends twice")
            }
        }
        note(machine.start(WaiterID(1), now: .zero))
        guard let attempt else { return require(false, "there is no attempt") }
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
        require(pending.isEmpty, "calls do not end: \(pending)")
    }
}
