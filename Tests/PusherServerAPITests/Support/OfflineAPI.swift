import Logging
import PusherServerAPI
import RealtimeHTTP
import TestSupport

/// A requester that records requests and returns the given answers in order. It repeats the last answer.
final class RecordingRequester: HTTPRequester {
    let log = Log<HTTPRequest>()
    private let answers: [Result<HTTPResponse, HTTPRequestError>]

    init(_ answers: [Result<HTTPResponse, HTTPRequestError>]) { self.answers = answers }

    func response(to request: HTTPRequest) async throws -> HTTPResponse {
        log.append(request)
        return try answers[min(log.count, answers.count) - 1].get()
    }

    func shutdown() {}
}

extension Result<HTTPResponse, HTTPRequestError> {
    static func answer(_ status: Int, _ body: String = "{}", headers: HTTPFields = [:]) -> Self {
        .success(HTTPResponse(status: status, headers: headers, body: Array(body.utf8)))
    }

    static func failed(isUnsent: Bool) -> Self {
        var error = HTTPRequestError(.failed, "the connection failed")
        error.isUnsent = isUnsent
        return .failure(error)
    }
}

/// The application of the vectors, and an API that makes no real requests.
enum OfflineAPI {
    static let application = PusherServerAPI.Application(
        id: "3",
        key: "278d425bdf160c739803",
        secret: "7ad3773142a6692b25b8",
        encryptionMasterKey: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    )

    static func make(
        _ application: PusherServerAPI.Application = application,
        endpoint: PusherServerAPI.Endpoint = .pusher(cluster: "eu"),
        answers: [Result<HTTPResponse, HTTPRequestError>] = [.answer(200)],
        unixTime: Int = 1_353_088_179,
        _ change: (inout PusherServerAPI.Options) -> Void = { _ in }
    ) throws -> (api: PusherServerAPI, requester: RecordingRequester) {
        let requester = RecordingRequester(answers)
        var options = PusherServerAPI.Options()
        options.timeout = .patience
        options.retryPolicy = .delays([.zero, .zero], repeatsLast: false)
        options.logger = .quiet
        change(&options)
        let api = try PusherServerAPI(
            application: application,
            endpoint: endpoint,
            options: options,
            requester: requester,
            unixTime: { unixTime }
        )
        return (api, requester)
    }
}

/// Returns the error that `body` throws, if it is an error of the API.
func failure(of body: () async throws -> Void) async -> PusherServerAPIError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PusherServerAPIError
    }
}

extension Logger {
    /// A logger without output. The tests check thrown errors instead.
    static var quiet: Logger { Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() } }
}
