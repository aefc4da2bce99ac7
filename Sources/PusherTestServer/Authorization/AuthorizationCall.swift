import PusherProtocol

/// A request to one of the two authorization endpoints, with the answers that the closures in the options returned.
package struct AuthorizationCall: Sendable {
    enum Content: Sendable {
        case channels([Channel], socketID: String, isBatch: Bool)
        case user(PusherTestServer.UserAuthentication, socketID: String)
        case invalid(RESTFailure)
    }

    struct Channel: Sendable {
        var name: String
        var decision: PusherTestServer.ChannelAuthorization
    }

    let request: PusherTestServer.Request
    let form: Form
    let content: Content

    /// Creates a call, or returns nil if the request is for another endpoint. The initializer calls the closures in the
    /// options, so the caller must not hold a lock.
    package init?(_ request: PusherTestServer.Request, options: PusherTestServer.Options) {
        guard let endpoint = Endpoint(path: request.path) else { return nil }
        self.request = request
        guard request.body.count <= options.maximumRequestSize else {
            form = Form("")
            content = .invalid(.bodyTooLarge(limit: options.maximumRequestSize))
            return
        }
        guard let form = Form(of: request) else {
            self.form = Form("")
            content = .invalid(.badRequest("the body is not a JSON object"))
            return
        }
        self.form = form
        do throws(RESTFailure) {
            try Self.checkMethod(request)
            guard let socketID = form["socket_id"] else { throw .badRequest("socket_id is missing") }
            guard SocketID.isValid(socketID) else {
                throw .badRequest("socket_id must have the form 123.456")
            }
            switch endpoint {
            case .channel: content = try Self.channels(form, socketID, request, options)
            case .user: content = Self.user(form, socketID, request, options)
            }
        } catch {
            content = .invalid(error)
        }
    }

    /// Returns whether the request is for one of the endpoints.
    static func isFor(_ request: PusherTestServer.Request) -> Bool { Endpoint(path: request.path) != nil }

    static func checkMethod(_ request: PusherTestServer.Request) throws(RESTFailure) {
        guard ["GET", "POST"].contains(request.method) else {
            throw RESTFailure(status: 405, message: "only GET and POST are allowed")
        }
    }

    private enum Endpoint {
        case channel
        case user

        init?(path: String) {
            switch path {
            case "/pusher/auth", "/broadcasting/auth": self = .channel
            case "/pusher/user-auth", "/broadcasting/user-auth": self = .user
            default: return nil
            }
        }
    }

    private static func channels(
        _ form: Form,
        _ socketID: String,
        _ request: PusherTestServer.Request,
        _ options: PusherTestServer.Options
    ) throws(RESTFailure) -> Content {
        let batch = form.values("channel_name[]")
        let names = batch.isEmpty ? form.values("channel_name").suffix(1) : batch[...]
        guard !names.isEmpty else { throw .badRequest("channel_name is missing") }
        guard names.count <= maximumBatchCount else {
            throw .badRequest("at most \(maximumBatchCount) channels are allowed in one request")
        }
        var channels: [Channel] = []
        for name in names {
            do {
                _ = try ChannelName(name)
            } catch {
                throw .badRequest("\(error)")
            }
            let question = PusherTestServer.ChannelAuthorizationRequest(
                socketID: socketID,
                channel: name,
                parameters: form.parameters,
                request: request
            )
            channels.append(Channel(name: name, decision: options.authorizeChannel(question)))
        }
        return .channels(channels, socketID: socketID, isBatch: !batch.isEmpty)
    }

    private static let maximumBatchCount = 1_000

    private static func user(
        _ form: Form,
        _ socketID: String,
        _ request: PusherTestServer.Request,
        _ options: PusherTestServer.Options
    ) -> Content {
        let question = PusherTestServer.UserAuthenticationRequest(
            socketID: socketID,
            parameters: form.parameters,
            request: request
        )
        return .user(options.authenticateUser(question), socketID: socketID)
    }

    /// The channels of the request. Empty for a request about a user, and for an invalid request.
    var channelNames: [String] {
        guard case .channels(let channels, _, _) = content else { return [] }
        return channels.map(\.name)
    }

    var isForUser: Bool { Endpoint(path: request.path) == .user }
}
