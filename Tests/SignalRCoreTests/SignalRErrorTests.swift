import SignalRCore
import Testing

@Suite("Messages of SignalR errors")
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

    /// Does not compile if a case is added. Add it here and to the list.
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
        // Microsoft's words.
        case .serverTimeout: false
        }
    }

    @Test("each has what failed and why", arguments: all)
    func form(error: SignalRError) {
        #expect("\(error)".contains(/^[A-Z][^:]*: .*\.$/))
        #expect(Self.isListed(error))
    }
}
