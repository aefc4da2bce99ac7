import ClientTestSupport
import Foundation
import Logging
import PusherClient
import TestSupport
import Testing

@Suite("pusher serve", .serialized, .timeLimit(.minutes(5)))
struct ServeTests {
    private func makeClient(port: Int, userSecret: String) -> Pusher {
        Pusher(
            key: "app-key",
            options: PusherClientOptions(
                authMethod: .inline(secret: "wrong"),
                host: .host("127.0.0.1"),
                port: port,
                useTLS: false,
                userAuthMethod: .inline(secret: userSecret, user: { #"{"id":"ada"}"# }),
                logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
            )
        )
    }

    @Test("the tool prints no signatures with --verbose")
    func signatures() async throws {
        let arguments = ["serve", "--port", "0", "--dialect", "soketi", "--no-console", "--verbose"]
        let process = try ChildProcess("pusher", arguments)
        var port: Int?
        for await line in process.lines {
            if line.hasPrefix("port ") { port = Int(line.dropFirst(10)) }
            if line == "ready" { break }
        }
        let serverPort = try #require(port)
        let pushers = ["app-secret", "wrong"].map { makeClient(port: serverPort, userSecret: $0) }
        for pusher in pushers {
            _ = pusher.subscribe("private-a")
            pusher.signIn()
            pusher.connect()
        }
        var missing = ["pusher:signin_success", "pusher:subscription_error", "sign-in", "pusher:error"]
        var lines: [String] = []
        for await line in process.lines {
            lines.append(line)
            missing.removeAll { line.contains($0) }
            if missing.isEmpty { break }
        }
        #expect(missing.isEmpty, "\(lines)")
        let signed = lines.filter { $0.contains(#/[0-9a-f]{20}/#) }
        #expect(signed.isEmpty, "\(signed)")
        for pusher in pushers { pusher.disconnect() }
        process.send(SIGTERM)
        #expect(await process.end() == 0)
    }
}
