import PusherProtocol
package import RealtimeHTTP

/// The answer of an authorization endpoint, and the checks of its members (protocol clause 8).
package struct EndpointAnswer {
    /// The maximum size of a signature or shared secret, in bytes. Signatures have about 90 bytes, and shared secrets
    /// have 44.
    package static let maximumAuthSize = ClientStateMachine.maximumAuthLength
    /// The maximum size of signed data, in bytes. Servers have lower limits.
    package static let maximumDataSize = ClientStateMachine.maximumDataLength

    let response: HTTPResponse
    let url: String
    /// Whether a second request may differ from this request, for example because of a fresh token.
    let canAskOnceMore: Bool

    package init(response: HTTPResponse, url: String, canAskOnceMore: Bool) {
        self.response = response
        self.url = url
        self.canAskOnceMore = canAskOnceMore
    }

    /// The server that answered.
    var place: String { HTTPRequest.printable(url: response.url, askedFor: url) }

    package func authorization(of subject: AuthorizationSubject) throws(AuthorizationError) -> Authorization {
        try authorization(in: try object(for: subject), of: subject)
    }

    /// Returns a result for each channel. Throws if the answer as a whole is a refusal or is unusable.
    package func authorizations(
        ofChannels names: [String]
    ) throws(AuthorizationError) -> [Result<Authorization, AuthorizationError>] {
        let answers = try object(for: names.count == 1 ? .channel(names[0]) : .channels(names.count))
        return names.map { name in
            do throws(AuthorizationError) {
                return .success(try authorization(inBatch: answers, ofChannel: name))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Reads one member of `{"private-a":{"status":200,"data":{…}}}`.
    private func authorization(
        inBatch answers: JSONValue,
        ofChannel name: String
    ) throws(AuthorizationError) -> Authorization {
        let subject = AuthorizationSubject.channel(name)
        guard let answer = answers[name] else {
            throw invalid("has no member for the channel. The answer to a batch is keyed by channel", subject)
        }
        guard let status = answer["status"]?.integer else {
            throw invalid(#"has no whole number as "status""#, subject)
        }
        guard (200..<300).contains(status) else {
            throw refusal(status: status, body: answer["data"].map { $0.string ?? $0.jsonText }, subject)
        }
        guard let data = answer["data"], data.object != nil else {
            throw invalid(#"has no object as "data""#, subject)
        }
        return try authorization(in: data, of: subject)
    }

    private func object(for subject: AuthorizationSubject) throws(AuthorizationError) -> JSONValue {
        guard (200..<300).contains(response.status) else {
            throw refusal(
                status: response.status,
                body: String(decoding: response.body, as: UTF8.self),
                subject
            )
        }
        if let compression = response.compression {
            throw invalid(
                "is compressed with \(compression), although the request accepts only uncompressed answers. Turn the "
                    + "compression off for this endpoint",
                subject
            )
        }
        guard !response.isCut else { throw invalid("has more than \(response.body.count) bytes", subject) }
        // The answers of some backends begin with an invisible byte order mark, which is not JSON.
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let body = response.body.dropFirst(response.body.starts(with: mark) ? mark.count : 0)
        guard let text = String(validating: body, as: UTF8.self) else {
            throw invalid("is not UTF-8", subject)
        }
        guard let value = JSONValue(parsing: text) else {
            throw invalid(
                body.isEmpty ? "is empty" : isHTML(text) ? Self.htmlPage : "is not JSON, or is nested too deeply",
                subject
            )
        }
        guard value.object != nil else { throw invalid("is \(value.kindName). It must be a JSON object", subject) }
        return value
    }

    private static let htmlPage = """
        is an HTML page instead of JSON, probably a login page or an error page of the backend. Check the URL, and the \
        headers that identify the user
        """

    private func isHTML(_ text: String) -> Bool {
        if response.headers["Content-Type"]?.lowercased().contains("html") == true { return true }
        let start = text.utf8.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }.prefix(14)
        let beginning = String(decoding: start, as: UTF8.self).lowercased()
        return beginning.hasPrefix("<!doctype html") || beginning.hasPrefix("<html")
    }

    private func authorization(
        in object: JSONValue,
        of subject: AuthorizationSubject
    ) throws(AuthorizationError) -> Authorization {
        let auth = try string("auth", of: object, subject, maximumSize: Self.maximumAuthSize)
        guard let auth, !auth.isEmpty else {
            throw invalid(#"has no "auth". It must be a string of the form KEY:SIGNATURE"#, subject)
        }
        if subject == .user {
            guard let data = try string("user_data", of: object, subject, maximumSize: Self.maximumDataSize) else {
                throw invalid(#"has no "user_data". It must be a string that holds the user's JSON text"#, subject)
            }
            return try checked(Authorization(auth: auth, data: data), for: .user, subject)
        }
        let authorization = Authorization(
            auth: auth,
            data: try string("channel_data", of: object, subject, maximumSize: Self.maximumDataSize),
            sharedSecret: try string("shared_secret", of: object, subject, maximumSize: Self.maximumAuthSize)
        )
        guard case .channel(let name) = subject else { return authorization }
        return try checked(authorization, for: .channel(name), subject)
    }

    /// Checks the authorization as the client does later, because only this error can contain the body.
    private func checked(
        _ authorization: Authorization,
        for owner: AuthorizationQuestion.Subject,
        _ subject: AuthorizationSubject
    ) throws(AuthorizationError) -> Authorization {
        do throws(Authorization.Problem) {
            try ClientStateMachine.check(authorization, for: owner)
        } catch {
            throw invalid("is unusable: \(error.reason(data: owner == .user ? "user_data" : "channel_data"))", subject)
        }
        return authorization
    }

    /// Returns a string; nil if the member is missing or `null`.
    private func string(
        _ name: String,
        of object: JSONValue,
        _ subject: AuthorizationSubject,
        maximumSize: Int
    ) throws(AuthorizationError) -> String? {
        switch object[name] {
        case nil, .null?: return nil
        case .string(let text)?:
            guard text.utf8.count <= maximumSize else {
                throw invalid(#"has more than \#(maximumSize) bytes in "\#(name)""#, subject)
            }
            return text
        case let value?:
            let advice =
                value.object == nil || !name.hasSuffix("_data")
                ? "It must be a string"
                : "It must be a string with the JSON text that was signed. Encode the object to JSON, sign that text, "
                    + "and send it as a string"
            throw invalid(#"has \#(value.kindName) as "\#(name)". \#(advice)"#, subject)
        }
    }

    /// Makes the error for an answer without a usable signature. The body is usually the first thing that a developer
    /// needs.
    private func invalid(_ what: String, _ subject: AuthorizationSubject) -> AuthorizationError {
        var error = error(
            .invalidResponse,
            "Invalid authorization: the answer of \(place) for \(subject) \(what).",
            status: response.status
        )
        if response.compression == nil {
            error.body = Self.withoutSecrets(String(decoding: response.body, as: UTF8.self))
                .prefix(fittingUTF8Bytes: Self.maximumBodySize)
        }
        return error
    }

    /// Replaces the parts of a body that may be secret: the members of objects whose names suggest credentials, and long
    /// words, which may be signatures, keys or tokens.
    static func withoutSecrets(_ body: String) -> String {
        withoutLongWords(JSONValue(parsing: body).map { withoutSecrets($0).jsonText } ?? body)
    }

    private static func withoutSecrets(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            return .object(
                WireTable(
                    members.map { name, value in
                        let isHidden = isSecretMember(name) && value != .null && value != ""
                        return (name, isHidden ? "(hidden)" : withoutSecrets(value))
                    }
                )
            )
        case .array(let elements): return .array(elements.map(withoutSecrets))
        case .null, .bool, .integer, .number, .string: return value
        }
    }

    /// Members such as `channel_data` are about a person.
    private static func isSecretMember(_ name: String) -> Bool { isSecret(name) || name.hasSuffix("_data") }

    /// The size in bytes from which a word may be a secret.
    private static let longWord = 32

    private static func withoutLongWords(_ text: String) -> String {
        var result = ""
        var rest = text.utf8[...]
        while !rest.isEmpty {
            let word = rest.prefix { isPartOfSecret($0) }
            rest = rest[word.endIndex...]
            result += word.count < longWord ? String(Substring(word)) : "(hidden)"
            let other = rest.prefix { !isPartOfSecret($0) }
            result += String(Substring(other))
            rest = rest[other.endIndex...]
        }
        return result
    }

    /// Returns whether a byte may be part of a key, a signature in hexadecimal digits, or text in base64. PHP writes the
    /// slashes of base64 as `\/` in JSON.
    private static func isPartOfSecret(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "="), UInt8(ascii: "_"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "\\"):
            true
        default: false
        }
    }

    /// If the name of a header field, or of a member of the body, contains one of these words, its value may be secret.
    /// Errors omit such values, because anybody who knows the secret can act as the user.
    private static let secretFields = [
        "auth", "cookie", "credential", "csrf", "jwt", "key", "location", "password", "refresh", "secret", "session",
        "signature", "token", "xsrf",
    ]

    private static func isSecret(_ field: String) -> Bool {
        let field = field.lowercased()
        // The field `WWW-Authenticate` is not secret, and describes the problem.
        return field != "www-authenticate" && secretFields.contains { field.contains($0) }
    }

    /// Makes an error with the known parts of the answer, except parts that may be secret.
    func error(_ code: AuthorizationError.Code, _ message: String, status: Int) -> AuthorizationError {
        AuthorizationError(
            code,
            message,
            address: HTTPRequest.printable(url: response.url ?? url),
            httpStatus: status,
            httpHeaders: response.headers.cut(count: 64, nameSize: 200, valueSize: 1_000).dictionary
                .filter { !Self.isSecret($0.key) }
        )
    }
}

extension JSONValue {
    fileprivate var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
