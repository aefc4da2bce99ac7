import Foundation
import PusherEncryption
import PusherTestServer
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@Suite("pusher authorize", .serialized, .limited)
struct AuthorizeTests {
    private static let credentials = ["--key", "278d425bdf160c739803", "--secret", "7ad3773142a6692b25b8"]
    private static let socket = ["--socket-id", "1234.1234"]
    private static let right = "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"

    private static func signature(of text: String, secret: String = "7ad3773142a6692b25b8") -> String {
        HMACSHA256.hexadecimal(text, secret: secret)
    }

    @Test("the tool prints the signed text and the answer, as text and as JSON")
    func answers() async throws {
        let private_ = ["authorize", "private-foobar"] + Self.socket + Self.credentials
        #expect(
            try await ToolRun.result(private_ + ["--no-json"])
                == .init(
                    status: 0,
                    lines: [
                        "signed text    1234.1234:private-foobar",
                        "auth           278d425bdf160c739803:\(Self.right)",
                    ]
                )
        )
        let user = ["authorize", "--user-data", #"{"id":"12345"}"#] + Self.socket + Self.credentials
        let auth = "278d425bdf160c739803:4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"
        #expect(
            try await ToolRun.result(user)
                == .init(
                    status: 0,
                    lines: [
                        #"{"signed":"1234.1234::user::{\"id\":\"12345\"}","auth":"\#(auth)","user_data":"{\"id\":\"12345\"}"}"#
                    ]
                )
        )
    }

    @Test("every example in the help of pusher authorize works as it is")
    func examples() async throws {
        let help = try await ToolRun.result(["authorize", "--help"])
        // The shell joins lines that end with a backslash.
        let examples = help.lines.joined(separator: "\n").replacingOccurrences(of: "\\\n", with: "")
            .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { $0.hasPrefix("pusher authorize ") && $0.contains("1234.5678") }
        #expect(examples.count == 5)
        try await PusherTestServer.withServer { server in
            for example in examples {
                let command = example.replacingOccurrences(of: "http://127.0.0.1:6001", with: server.url)
                let shell = try ChildProcess("/bin/bash", ["-c", "exec \"$0\"/\(command)", ChildProcess.folder.path])
                for await _ in shell.lines {}
                #expect(await shell.end() == 0, "\(example)")
            }
        }
    }

    @Test("the tool does not print the key of an encrypted channel")
    func hiddenKey() async throws {
        let arguments = ["authorize", "private-encrypted-foobar", "--no-json"] + Self.socket + Self.credentials
        let result = try await ToolRun.result(arguments + PusherTestServer.encryptionOptions)
        #expect(result.status == 0)
        #expect(result.lines.last == "shared_secret  (not shown)")
        #expect(!result.lines.joined().contains("g3Au6SZ"))
    }

    @Test("the tool exits with code 0 for a valid signature")
    func rightSignature() async throws {
        let auth = ["--auth", "278d425bdf160c739803:\(Self.right)"]
        let result = try await ToolRun.result(
            ["authorize", "private-foobar", "--no-json"] + Self.socket + Self.credentials + auth
        )
        #expect(result.status == 0)
        #expect(result.lines.last == "result         the signature is right")
    }

    private static let presence = ["presence-a", "--channel-data", #"{"user_id":"1","user_info":{"a":"b/c"}}"#]

    @Test(
        "the tool exits with code 1 for a wrong signature and names the mistake",
        arguments: [
            (["private-foobar"], "abc", "does not have the form"),
            (
                ["private-foobar"], "other:\(right)",
                #"has the key "other", but must have "278d425bdf160c739803". The signature is right."#
            ),
            (["private-foobar"], "278d425bdf160c739803:\(right.uppercased())", "upper-case"),
            (["private-foobar"], "278d425bdf160c739803:WN+LDDbWmCuCw+z2tGYuNP6MJbukj1Np8TW/hDZRw6Q=", "not base64"),
            (["private-foobar"], "278d425bdf160c739803:\(signature(of: "private-foobar:1234.1234"))", "wrong order"),
            (
                ["private-foobar"], "278d425bdf160c739803:\(signature(of: "1234.1234:foobar"))",
                "without its prefix private-"
            ),
            (["private-foobar"], "278d425bdf160c739803:\(signature(of: "1234.1234"))", "Only the socket id"),
            (
                ["private-foobar"],
                "278d425bdf160c739803:\(signature(of: "1234.1234:private-foobar", secret: "7ad3773142a6692b25b8\n"))",
                "line break"
            ),
            (
                ["private-foobar"],
                "278d425bdf160c739803:\(signature(of: "1234.1234:private-foobar", secret: "278d425bdf160c739803"))",
                "key was used as the secret"
            ),
            (
                ["private-foobar"], "278d425bdf160c739803:\(signature(of: "1234.1234:private-foobar", secret: "x"))",
                "another secret"
            ),
            (presence, "278d425bdf160c739803:\(signature(of: "1234.1234:presence-a"))", "channel_data was not signed"),
            (
                presence,
                "278d425bdf160c739803:\(signature(of: #"1234.1234:presence-a:{"user_id":"1","user_info":{"a":"b\/c"}}"#))",
                "Another form of channel_data"
            ),
            (
                ["--user-data", #"{"id":"1"}"#], "278d425bdf160c739803:\(signature(of: #"1234.1234:user:{"id":"1"}"#))",
                "one colon instead of two"
            ),
        ]
    )
    func wrongSignature(subject: [String], auth: String, mistake: String) async throws {
        let result = try await ToolRun.result(
            ["authorize"] + subject + Self.socket + Self.credentials + ["--auth", auth]
        )
        #expect(result.status == 1)
        #expect(result.errors.count == 1)
        #expect(result.errors.first?.contains(mistake) == true, "\(result.errors)")
        #expect(result.lines.first?.contains(#""matches":false"#) == true)
        #expect(!(result.lines + result.errors).joined().contains("7ad3773142a6692b25b8"))
    }

    @Test("the tool sends a client's request to a backend and checks the answer")
    func backend() async throws {
        try await PusherTestServer.withServer { server in
            let url = ["--auth-url", server.url + "/pusher/auth", "--no-json"]
            for channel in ["private-a", "presence-a", "private-encrypted-a"] {
                let arguments = ["authorize", channel] + Self.socket + server.toolOptions + url
                let result = try await ToolRun.result(arguments + PusherTestServer.encryptionOptions)
                #expect(result.status == 0, "\(result)")
                #expect(
                    result.lines.first
                        == "sent           POST \(server.url)/pusher/auth  socket_id=1234.1234&channel_name=\(channel)"
                )
            }
            server.failAuthorizations(with: .wrongSharedSecret)
            let encrypted = ["authorize", "private-encrypted-a"] + Self.socket + server.toolOptions + url
            let wrongKey = try await ToolRun.result(encrypted + PusherTestServer.encryptionOptions)
            #expect(wrongKey.status == 1)
            #expect(wrongKey.errors.first?.contains("made with another key") == true)
        }
    }

    @Test(
        "the tool prints one line and exits with code 1 if the backend fails",
        arguments: [
            (.answer(403, [:], "not you"), "with status 403 (not you)"),
            (.answer(200, [:], "<html>"), "has no auth"),
            (.answer(200, [:], #"{"ok":true}"#), "has no auth"), (.closing, "failed"),
            (.answer(200, [:], #"{"auth":"k:s","channel_data":"{}"}"#), "Invalid answer of your backend"),
        ] as [(HTTPReply, String)]
    )
    func badBackend(reply: HTTPReply, text: String) async throws {
        try await HTTPTestServer.serving { _ in
            reply
        } _: { backend in
            let result = try await ToolRun.result(
                ["authorize", "private-a", "--auth-url", backend.url + "/auth", "--timeout", "280"] + Self.socket
            )
            #expect(result.status == 1)
            #expect(result.errors.count == 1)
            #expect(result.errors.first?.contains(text) == true, "\(result.errors)")
        }
    }
}
