import NIOConcurrencyHelpers
import NIOCore
import RealtimeTestHTTP

/// The writer of the answer to one request on a socket. The answer is one piece, or several chunks. The writer reports
/// each sent chunk to the engine.
final class ResponseWriter: Sendable {
    private let exchange: HTTPTestExchange
    private let engine: ServerEngine
    private let request = NIOLockedValueBox<RequestID?>(nil)

    init(_ exchange: HTTPTestExchange, _ engine: ServerEngine) {
        self.exchange = exchange
        self.engine = engine
    }

    func assign(_ request: RequestID) {
        self.request.withLockedValue { $0 = request }
        exchange.whenEnded { [engine] in engine.requestEnded(request) }
    }

    func respond(_ part: ResponsePart) {
        switch part {
        case .whole(let response): exchange.respond(response.http)
        case .head(let response): exchange.begin(status: response.status, fields: response.http.fields)
        case .bytes(let bytes): write(bytes)
        case .flush: exchange.flush()
        case .end: exchange.end()
        case .dropped: exchange.dropAfterFlush()
        case .abandoned: exchange.drop()
        }
    }

    private func write(_ bytes: [UInt8]) {
        guard let request = request.withLockedValue({ $0 }) else { return }
        // Report the bytes when the system has all of them, because a partly sent line has not reached the client.
        exchange.write(ByteBuffer(bytes: bytes)).whenSuccess { [engine] in engine.delivered(bytes.count, of: request) }
    }
}
