import ArgumentParser
import Foundation
import PusherServerAPI

struct AuthorizeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authorize",
        abstract: "Sign a subscription or a sign-in, and find the error in another signature.",
        usage: """
            pusher authorize CHANNEL --socket-id ID [--user-id ID | --channel-data JSON] [options]
            pusher authorize --user-data JSON --socket-id ID [options]
            """,
        discussion: """
            Prints the string to sign, and the answer that your backend must give. The command makes a \
            request only with --auth-url.

            With --auth, the command compares a signature with the correct signature. With --auth-url, it sends your backend \
            the request of a client, prints the request and the answer, and compares the answer with the correct answer. The \
            exit code is 1 if the signatures or the answers differ.

            The command compares the key of an encrypted channel, but never prints it.

            EXAMPLES, with the application of pusher serve; the one with --auth-url needs a running pusher serve
              pusher authorize private-chat --socket-id 1234.5678
              pusher authorize presence-room --socket-id 1234.5678 --user-id ada
              pusher authorize private-chat --socket-id 1234.5678 --key k \\
                --auth k:56f901ee21a52ef3dd91b1c155900190e056142b3b5016e873c27db1a4607719
              pusher authorize private-chat --socket-id 1234.5678 \\
                --auth-url http://127.0.0.1:6001/pusher/auth
              pusher authorize --user-data '{"id":"ada"}' --socket-id 1234.5678
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The channel's name.")
    var channel: String?

    @Option(help: ArgumentHelp("The connection that wants to subscribe or to sign in.", valueName: "id"))
    var socketID: String

    @Option(help: ArgumentHelp("The user on a presence channel.", valueName: "id"))
    var userID: String?

    @Option(help: ArgumentHelp("The user on a presence channel, signed byte for byte.", valueName: "json"))
    var channelData: String?

    @Option(help: ArgumentHelp("The user who signs in, signed byte for byte.", valueName: "json"))
    var userData: String?

    @Option(help: ArgumentHelp("A signature to compare.", valueName: "key:signature"))
    var auth: String?

    @Option(help: ArgumentHelp("The URL of your backend's authorization endpoint.", valueName: "url"))
    var authURL: String?

    func validate() throws {
        guard (channel == nil) != (userData == nil) else {
            throw ValidationError("Give either a channel, or --user-data for a sign-in.")
        }
        guard userData == nil || (userID == nil && channelData == nil) else {
            throw ValidationError("--user-data excludes --user-id and --channel-data, which are for channels.")
        }
        guard userID == nil || channelData == nil else {
            throw ValidationError("--user-id and --channel-data exclude each other.")
        }
        guard userID == nil || authURL == nil else {
            throw ValidationError("--user-id and --auth-url exclude each other: your backend identifies the user.")
        }
        guard auth == nil || authURL == nil else { throw ValidationError("--auth and --auth-url exclude each other.") }
    }

    func run() async throws {
        let server = try server.server
        if let authURL {
            let answer = try await BackendQuestion(url: authURL, channel: channel, socketID: socketID)
                .answer(timeLimit: self.server.timeLimit)
            return try compare(answer, server)
        }
        // Without a backend's answer, the data of a channel comes only from an option.
        let expected = try expected(server, data: nil)
        if let auth {
            let given = GivenAuthorization(
                auth: auth,
                data: expected.channelData ?? expected.userData,
                sharedSecret: expected.sharedSecret,
                sent: nil
            )
            return try report(expected, given, server)
        }
        try output.print(text: rows(signedRows(expected)), json: signedMembers(expected))
    }

    /// - Parameter data: The signed data in the backend's answer; nil without an answer. For a channel,
    ///   `--channel-data` has priority.
    private func expected(_ server: Server, data: String?) throws -> PusherServerAPI.Authorization {
        if let channel, channel.hasPrefix("presence-"), userID == nil, channelData == nil, data == nil {
            throw StandardError.failure(
                authURL == nil
                    ? "Presence channels need a user. Give --user-id or --channel-data."
                    : "Your backend's answer has no channel_data. Presence channels need channel_data with a user_id.",
                authURL == nil ? .validationFailure : .failure
            )
        }
        do {
            let api = try server.makeAPI(timeLimit: .seconds(1))
            defer { api.shutdown() }
            guard let channel else {
                return try api.authenticateUser(.init(userData: data ?? userData ?? ""), socketID: socketID)
            }
            let member: PusherServerAPI.Member? =
                if let channelData = channelData ?? data {
                    .init(channelData: channelData)
                } else {
                    userID.map { .init(id: $0) }
                }
            return try api.authorizeChannel(channel, socketID: socketID, member: member)
        } catch  where data != nil {
            throw StandardError.failure("Invalid answer of your backend: \(error.message)")
        } catch {
            throw StandardError.failure(error.message, .validationFailure)
        }
    }

    private func compare(_ given: GivenAuthorization, _ server: Server) throws {
        try report(try expected(server, data: given.data), given, server)
    }

    private func report(
        _ expected: PusherServerAPI.Authorization,
        _ given: GivenAuthorization,
        _ server: Server
    ) throws {
        let diagnosis = SignatureDiagnosis(
            application: server.application,
            socketID: socketID,
            channel: channel,
            expected: expected,
            given: given
        )
        let problems = diagnosis.problems
        try output.print(
            text: rows(
                [("sent", given.sent)] + signedRows(expected) + [("got", given.auth)]
                    + (problems.isEmpty ? [("result", "the signature is right")] : problems.map { ("differs", $0) })
            ),
            json: [("sent", given.sent.map { PrintedJSON.quoted($0) })] + signedMembers(expected) + [
                ("got", PrintedJSON.quoted(given.auth)), ("matches", "\(problems.isEmpty)"),
                ("differences", JSONLine.array(problems.map { PrintedJSON.quoted($0) })),
            ]
        )
        if let first = problems.first { throw StandardError.failure("Invalid authorization: \(first)") }
    }

    private func signedText(_ expected: PusherServerAPI.Authorization) -> String {
        SignatureDiagnosis.text(
            socketID: socketID,
            channel: channel,
            data: expected.channelData ?? expected.userData
        )
    }

    private func signedRows(_ expected: PusherServerAPI.Authorization) -> [(String, String?)] {
        [
            ("signed text", signedText(expected)), ("auth", expected.auth), ("channel_data", expected.channelData),
            ("user_data", expected.userData), ("shared_secret", expected.sharedSecret.map { _ in "(not shown)" }),
        ]
    }

    private func signedMembers(_ expected: PusherServerAPI.Authorization) -> [(String, String?)] {
        [
            ("signed", PrintedJSON.quoted(signedText(expected))), ("auth", PrintedJSON.quoted(expected.auth)),
            ("channel_data", expected.channelData.map { PrintedJSON.quoted($0) }),
            ("user_data", expected.userData.map { PrintedJSON.quoted($0) }),
        ]
    }

    private func rows(_ rows: [(String, String?)]) -> [String] {
        rows.compactMap { title, value in
            value.map { "\(title.padding(toLength: 13, withPad: " ", startingAt: 0))  \($0.escapingControls)" }
        }
    }
}
