import Foundation
import NIOConcurrencyHelpers
import PusherClient
import RealtimeHTTP

/// Answers authorization requests with the answers of the input. If the input has no answer, the requester authorizes
/// correctly.
final class ScriptedRequester: HTTPRequester {
    private struct State {
        var answers: [HTTPResponse] = []
        var isShutDown = false
    }

    /// A key of 32 bytes, in base64.
    static let sharedSecret = Data(0..<32).base64EncodedString()

    private let state = NIOLockedValueBox(State())

    var isShutDown: Bool { state.withLockedValue { $0.isShutDown } }

    func append(_ answer: HTTPResponse) { state.withLockedValue { $0.answers.append(answer) } }
    func forgetAnswers() { state.withLockedValue { $0.answers = [] } }
    func shutdown() { state.withLockedValue { $0.isShutDown = true } }

    func response(to request: HTTPRequest) async throws -> HTTPResponse {
        try request.validate()
        if Task.isCancelled { throw CancellationError() }
        let answer = state.withLockedValue { $0.answers.isEmpty ? nil : $0.answers.removeFirst() }
        if let answer {
            // Status 0 stands for a failed request.
            if answer.status == 0 { throw HTTPRequestError(.failed, "no connection") }
            return answer
        }
        return HTTPResponse(status: 200, body: Array(Self.answer(to: request).utf8))
    }

    private static func answer(to request: HTTPRequest) -> String {
        var components = URLComponents()
        components.percentEncodedQuery = (request.body ?? []).text
        func item(_ name: String) -> String { components.queryItems?.first { $0.name == name }?.value ?? "" }
        let auth = "key:\(item("socket_id"))"
        guard !item("channel_name").isEmpty else {
            return json(["auth": auth, "user_data": #"{"id":"me"}"#])
        }
        return json(["auth": auth, "channel_data": #"{"user_id":"me"}"#, "shared_secret": sharedSecret])
    }

    private static func json(_ members: [String: String]) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(members)).map { Array($0).text } ?? ""
    }
}
