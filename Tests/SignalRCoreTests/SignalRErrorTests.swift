import SignalRCore
import TestTraits
import Testing

@Suite("Messages of SignalR errors", .limited)
struct SignalRErrorTests {
    private static let all: [SignalRError] = [
        .incompleteMessage, .invalidDataType, .failedToEncodeHandshakeRequest, .failedToDecodeResponseData,
        .expectedHandshakeResponse, .noHandshakeMessageReceived, .unsupportedHandshakeVersion, .handshakeError("a."),
        .connectionAborted, .negotiationError("a."), .failedToStartConnection("a."), .invalidOperation("a."),
        .unexpectedResponseCode(404), .invalidTextMessageEncoding, .httpTimeoutError, .invalidResponseType,
        .cannotSentUntilTransportConnected, .invalidData("a."), .eventSourceFailedToConnect,
        .eventSourceInvalidTransferFormat, .invalidUrl("a."), .invocationError("a."), .unsupportedTransport("a."),
        .messageBiggerThan2GB, .unexpectedMessageType("a."), .streamCancelled,
    ]

    /// Returns whether the list must contain the error. If you add a case to the error, this function no longer
    /// compiles. Then add the case here and to the list.
    private static func isListed(_ error: SignalRError) -> Bool {
        switch error {
        case .incompleteMessage, .invalidDataType, .failedToEncodeHandshakeRequest, .failedToDecodeResponseData,
            .expectedHandshakeResponse, .noHandshakeMessageReceived, .unsupportedHandshakeVersion, .handshakeError,
            .connectionAborted, .negotiationError, .failedToStartConnection, .invalidOperation,
            .unexpectedResponseCode, .invalidTextMessageEncoding, .httpTimeoutError, .invalidResponseType,
            .cannotSentUntilTransportConnected, .invalidData, .eventSourceFailedToConnect,
            .eventSourceInvalidTransferFormat, .invalidUrl, .invocationError, .unsupportedTransport,
            .messageBiggerThan2GB, .unexpectedMessageType, .streamCancelled:
            true
        // The list does not contain this case, because its message is the message of Microsoft's client.
        case .serverTimeout: false
        }
    }

    @Test("the message of each error contains the failed operation and the reason", arguments: all)
    func form(error: SignalRError) {
        #expect("\(error)".contains(/^[A-Z][^:]*: .*\.$/))
        #expect(Self.isListed(error))
    }

    @Test("texts of the server cannot end a line or affect a terminal")
    func serverTexts() {
        let text = "a\nb\u{1B}[2J"
        let escaped = #"a\nb\u{1B}[2J"#
        #expect("\(SignalRError.handshakeError(text))" == "Handshake failed: \(escaped)")
        #expect(SignalRClientError(.serverClosed, text).message == escaped)
    }

    @Test("an error shows at most 1,000 bytes of a server's text, and keeps the whole text as its value")
    func longTexts() {
        let text = String(repeating: "é", count: 100_000)
        for error in [SignalRError.handshakeError(text), .invocationError(text), .invalidData(text)] {
            #expect("\(error)".utf8.count < 1_100)
        }
        guard case .invocationError(let whole) = SignalRError.invocationError(text) else { return }
        #expect(whole == text)
    }
}
