import RealtimePrimitives

/// An error of a SignalR connection. The cases are the same as in Microsoft's Swift client.
///
/// Other errors are ``SignalRClientError``, or `CancellationError` if the task was cancelled.
public enum SignalRError: Error, Hashable, Sendable {
    /// A message was incomplete.
    case incompleteMessage
    /// The type of an argument, item or result is not supported.
    case invalidDataType
    /// The handshake could not be encoded.
    case failedToEncodeHandshakeRequest
    /// A response of the server could not be decoded.
    case failedToDecodeResponseData
    /// The server sent another message before its answer to the handshake.
    case expectedHandshakeResponse
    /// The server sent no answer to the handshake.
    case noHandshakeMessageReceived
    /// The server does not know the version of the handshake.
    case unsupportedHandshakeVersion
    /// The server refused the handshake. The value is the server's reason.
    case handshakeError(String)
    /// Your code stopped the connection while it started.
    case connectionAborted
    /// The client cannot use the server's answer to the negotiation. The value is the reason.
    case negotiationError(String)
    /// The connection could not start. The value is the reason.
    case failedToStartConnection(String)
    /// The operation is not possible in this state. The value is the reason.
    case invalidOperation(String)
    /// The server answered with an unexpected HTTP status, which is the value.
    case unexpectedResponseCode(Int)
    /// A text message was not UTF-8.
    case invalidTextMessageEncoding
    /// An HTTP request timed out.
    case httpTimeoutError
    /// A response does not have the requested type.
    case invalidResponseType
    /// Your code sent a message before the transport was connected.
    case cannotSentUntilTransportConnected
    /// The data is invalid. The value is the reason.
    case invalidData(String)
    /// The stream of server-sent events could not be opened.
    case eventSourceFailedToConnect
    /// Server-sent events cannot carry binary messages.
    case eventSourceInvalidTransferFormat
    /// The URL is invalid. The value is the URL without user, password and query.
    case invalidUrl(String)
    /// The server's method failed. The value is the reason.
    case invocationError(String)
    /// The client cannot use the transport. The value is the reason.
    case unsupportedTransport(String)
    /// A message is larger than the protocol allows.
    case messageBiggerThan2GB
    /// The server sent a message whose type is not allowed in this context. The value is the reason.
    case unexpectedMessageType(String)
    /// The stream was cancelled.
    case streamCancelled
    /// The server sent nothing within the timeout. The value is the timeout in seconds.
    case serverTimeout(Double)
}

extension SignalRError: CustomStringConvertible {
    /// The failed operation and the reason, in one line. The line shows at most 1,000 bytes of a server's text.
    public var description: String { text.escapingControls }

    private var text: String {
        switch self {
        case .incompleteMessage: "Invalid message: it ended too early."
        case .invalidDataType: "Value not sent: its type is not supported."
        case .failedToEncodeHandshakeRequest: "Handshake failed: the client could not encode the request."
        case .failedToDecodeResponseData: "Invalid response: it could not be decoded."
        case .expectedHandshakeResponse: "Handshake failed: the server sent another message first."
        case .noHandshakeMessageReceived:
            "Handshake failed: the server did not answer in time. A proxy may hold the answer back."
        case .unsupportedHandshakeVersion: "Handshake failed: the server does not support the version of the handshake."
        case .handshakeError(let reason): "Handshake failed: \(reason.shortened)"
        case .connectionAborted: "Connection not started: your code stopped the connection meanwhile."
        case .negotiationError(let reason): "Negotiation failed: \(reason.shortened)"
        case .failedToStartConnection(let reason): "Connection not started: \(reason.shortened)"
        case .invalidOperation(let reason): "Invalid operation: \(reason.shortened)"
        case .unexpectedResponseCode(let status): "Request failed: the server answered with HTTP status \(status)."
        case .invalidTextMessageEncoding: "Invalid message: the text is not UTF-8."
        case .httpTimeoutError: "Request timed out: the server did not answer in time."
        case .invalidResponseType: "Invalid response: it does not have the requested type."
        case .cannotSentUntilTransportConnected: "Message not sent: the transport is not connected yet."
        case .invalidData(let reason): "Invalid data: \(reason.shortened)"
        case .eventSourceFailedToConnect: "Connection failed: the stream of server-sent events was not opened."
        case .eventSourceInvalidTransferFormat:
            "Unsupported transport: server-sent events cannot carry binary messages. Use JSON."
        case .invalidUrl(let url): "Invalid URL: \(url)"
        case .invocationError(let reason): "Server method failed: \(reason.shortened)"
        case .unsupportedTransport(let reason): "Unsupported transport: \(reason.shortened)"
        case .messageBiggerThan2GB: "Message too large: it has more than 2 GB."
        case .unexpectedMessageType(let type): "Unexpected message: \(type.shortened)"
        case .streamCancelled: "Stream ended: it was cancelled."
        case .serverTimeout(let seconds):
            "Server timeout (\(seconds) s) elapsed without receiving a message from the server."
        }
    }
}

extension String {
    /// The part of a server's text that errors and logs show.
    package var shortened: String { prefix(fittingUTF8Bytes: 1_000) }
}
