/// A violation of the protocol by the peer, with its close code. After a violation, the client closes the connection.
package struct WebSocketViolation: Error, Hashable, Sendable {
    package let closeCode: WebSocketCloseCode
    package let message: String

    private init(_ closeCode: WebSocketCloseCode, _ message: String) {
        self.closeCode = closeCode
        self.message = message
    }

    package static let reservedBits = Self(.protocolError, "a frame has reserved bits set")
    package static let masked = Self(.protocolError, "the server masked a frame")
    package static let fragmentedControlFrame = Self(.protocolError, "a control frame is fragmented")
    package static let longControlFrame = Self(.protocolError, "a control frame has more than 125 bytes")
    package static let invalidLength = Self(
        .protocolError,
        "a frame's length is too large, or not in its shortest form"
    )
    package static let unexpectedContinuation = Self(
        .protocolError,
        "a continuation frame arrives without an unfinished message"
    )
    package static let unfinishedMessage = Self(.protocolError, "a message begins before the last message ended")
    package static let shortClosePayload = Self(.protocolError, "a close frame has only one byte")
    package static let invalidCompression = Self(.protocolError, "a compressed message cannot be decompressed")
    package static let invalidText = Self(.invalidPayload, "a text message is not UTF-8")
    package static let invalidCloseReason = Self(.invalidPayload, "the reason in a close frame is not UTF-8")

    package static func reservedOpcode(_ opcode: UInt8) -> Self {
        Self(.protocolError, "a frame has the reserved opcode \(opcode)")
    }

    package static func invalidCloseCode(_ code: Int) -> Self {
        Self(.protocolError, "a close frame has the code \(code)")
    }

    package static func messageTooBig(limit: Int) -> Self {
        Self(.messageTooBig, "a message is larger than the limit of \(limit) bytes")
    }

    package var error: WebSocketError {
        let code: WebSocketError.Code =
            switch closeCode {
            case .messageTooBig: .messageTooBig
            case .invalidPayload: .invalidText
            default: .protocolViolation
            }
        return WebSocketError(code, "Protocol violation: \(message).")
    }
}
