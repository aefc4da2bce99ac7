import Foundation
import NIOHTTP1
import PusherTestServer
import RealtimeHTTP
import RealtimeTestHTTP
import TestSupport
import TestTraits
import Testing

@testable import pusher

@Suite("Access to the console", .limited)
struct ConsoleAccessTests {
    private static let action = #"{"action":"publish","event":"e","channel":"orders","data":"{}"}"#

    @Test("the page has no external resources, and other sites may not embed it")
    func page() async throws {
        try await RunningConsole.run { console async throws in
            let page = try await console.request()
            #expect(page.status == 200 && page.headers["Content-Type"] == "text/html; charset=utf-8")
            #expect(page.body.hasPrefix("<!doctype html>") && page.body.contains("\"port\":\(console.server.port)"))
            let policy = try #require(page.headers["Content-Security-Policy"])
            #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
            #expect(page.headers["Cross-Origin-Resource-Policy"] == "same-origin")
            #expect(page.headers["Access-Control-Allow-Origin"] == nil)
            let addresses = page.body.matches(of: #/(?:https?|wss?):\/\/[a-z0-9.\[\]:]*/#).map { String($0.output) }
            #expect(addresses.allSatisfy { $0.contains("127.0.0.1") || $0.contains("www.w3.org") }, "\(addresses)")
            #expect(try await console.request(.GET, "favicon.ico").status == 403)
            #expect(try await console.request(.POST, "", headers: ["Origin": console.origin]).status == 405)
        }
    }

    @Test("every other request needs the page's token")
    func token() async throws {
        try await RunningConsole.run { console async throws in
            let origin = console.origin
            let wrong: [HTTPFields] = [
                ["Origin": origin], ["Origin": origin, "X-Console-Token": ""],
                ["Origin": origin, "X-Console-Token": "0123456789abcdef0123456789abcdef"],
            ]
            for headers in wrong {
                #expect(try await console.request(.POST, "actions", headers: headers, body: Self.action).status == 403)
            }
            for query in ["", "?token=", "?token=1", "?from=0&token"] {
                #expect(try await console.request(.GET, "updates\(query)").status == 403)
            }
            #expect(try await console.act(Self.action).status == 200)
        }
    }

    @Test(
        "the console rejects a foreign page, even with the token",
        arguments: ["http://evil.example", "null", "", "http://127.0.0.1:1", "https://127.0.0.1", "http://localhost"]
    )
    func foreignOrigin(origin: String) async throws {
        try await RunningConsole.run { console async throws in
            let headers: HTTPFields = ["Origin": origin, "X-Console-Token": try await console.token()]
            let response = try await console.request(.POST, "actions", headers: headers, body: Self.action)
            #expect(response.status == 403 && response.headers["Access-Control-Allow-Origin"] == nil)
            let query = "updates?token=\(try await console.token())"
            #expect(try await console.request(.GET, query, headers: ["Origin": origin]).status == 403)
            #expect(try await console.request(.OPTIONS, "actions", headers: headers).status == 403)
            #expect(console.server.records.isEmpty)
        }
    }

    @Test("a request without an origin changes nothing")
    func noOrigin() async throws {
        try await RunningConsole.run { console async throws in
            let headers: HTTPFields = ["X-Console-Token": try await console.token()]
            #expect(try await console.request(.POST, "actions", headers: headers, body: Self.action).status == 403)
        }
    }

    @Test("the console rejects a foreign name that leads to this machine, even with the token")
    func foreignHost() async throws {
        try await RunningConsole.run { console async throws in
            let token = try await console.token()
            let port = try #require(console.origin.split(separator: ":").last)
            for host in ["evil.example", "evil.example:\(port)", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil:\(port)"] {
                #expect(try await console.request(headers: ["Host": host]).status == 403, "\(host)")
                let headers: HTTPFields = ["Host": host, "Origin": "http://\(host)", "X-Console-Token": token]
                #expect(try await console.request(.POST, "actions", headers: headers, body: Self.action).status == 403)
                let query = "updates?token=\(token)"
                #expect(try await console.request(.GET, query, headers: ["Host": host]).status == 403)
            }
            let twice: HTTPFields = [("Host", "127.0.0.1:\(port)"), ("Host", "evil.example")].reduce(into: [:]) {
                $0.append($1.0, $1.1)
            }
            #expect(try await console.request(headers: twice).status != 200)
            for host in ["localhost:\(port)", "LOCALHOST:\(port)", "[::1]:\(port)"] {
                #expect(try await console.request(headers: ["Host": host]).status == 200, "\(host)")
            }
        }
    }

    @Test("the console rejects bodies that are too large")
    func largeBody() async throws {
        try await RunningConsole.run { console async throws in
            let data = String(repeating: "x", count: 200 << 10)
            let response = try await console.act(#"{"action":"publish","event":"e","channel":"c","data":"\#(data)"}"#)
            #expect(response.status == 413)
        }
    }

    @Test(
        "isLoopback recognizes addresses of this machine",
        arguments: [
            ("127.0.0.1", true), ("127.9.8.7", true), ("::1", true), ("0:0:0:0:0:0:0:1", true), ("localhost", true),
            ("0.0.0.0", false), ("::", false), ("10.0.0.1", false), ("example.com", false), ("127.0.0.1.evil", false),
            ("::ffff:10.0.0.1", false), ("", false),
        ]
    )
    func loopback(host: String, isLoopback: Bool) {
        #expect(HostRule.isLoopback(host) == isLoopback)
    }
}

@Suite("The console of pusher serve", .limited)
struct ServeConsoleTests {
    @Test("the tool runs the console unless --no-console is set or the host is not a loopback address")
    func announced() async throws {
        let cases = [([], true), (["--no-console"], false), (["--host", "0.0.0.0"], false), (["--console"], true)]
        for (arguments, isServed) in cases {
            let process = try ChildProcess("pusher", ["serve", "--port", "0"] + arguments)
            var address: Substring?
            for await line in process.lines {
                if line.hasPrefix("console   ") { address = line.dropFirst(10) }
                if line == "ready" { break }
            }
            #expect((address?.hasPrefix("http://127.0.0.1:") == true) == isServed, "\(arguments)")
            process.send(SIGTERM)
            #expect(await process.end() == 0)
        }
    }

    @Test("the tool rejects --console for a host that is not a loopback address, and gives the reason")
    func refused() async throws {
        let arguments = ["serve", "--port", "0", "--host", "0.0.0.0", "--console"]
        let process = try ChildProcess("pusher", arguments, showsErrors: true)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(await process.end() == 64)
        #expect(lines.first?.contains("other machines could use the console") == true)
    }

    @Test("the error for a port in use names the port, without an error number")
    func portInUse() async throws {
        try await PusherTestServer.withServer { server in
            let process = try ChildProcess("pusher", ["serve", "--port", "\(server.port)"], showsErrors: true)
            var lines: [String] = []
            for await line in process.lines { lines.append(line) }
            #expect(await process.end() == 1)
            let line = try #require(lines.first)
            #expect(line.contains("Port \(server.port) is in use. Try --port 0") && !line.contains("errno"))
        }
    }
}
