import ClientTestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("The endpoint of a client", .limited)
struct EndpointTests {
    private static let query = "client=pusher-client-swift&version=\(Endpoint.version)&protocol=7"

    @Test(
        "The URL",
        arguments: [
            (PusherClientOptions(), "wss://ws.pusherapp.com:443/app/key?"),
            (PusherClientOptions(host: .cluster("eu")), "wss://ws-eu.pusher.com:443/app/key?"),
            (PusherClientOptions(host: .host("localhost"), useTLS: false), "ws://localhost:80/app/key?"),
            (PusherClientOptions(host: .host("127.0.0.1"), port: 6001, useTLS: false), "ws://127.0.0.1:6001/app/key?"),
            (PusherClientOptions(host: .host("::1"), port: 6001), "wss://[::1]:6001/app/key?"),
            (PusherClientOptions(host: .host("[::1]"), port: 6001), "wss://[::1]:6001/app/key?"),
            (PusherClientOptions(port: 65_535), "wss://ws.pusherapp.com:65535/app/key?"),
            (PusherClientOptions(path: "/a/b"), "wss://ws.pusherapp.com:443/a/b/app/key?"),
            (PusherClientOptions(path: "/a/b/"), "wss://ws.pusherapp.com:443/a/b/app/key?"),
            (PusherClientOptions(path: "/"), "wss://ws.pusherapp.com:443/app/key?"),
            (PusherClientOptions(path: ""), "wss://ws.pusherapp.com:443/app/key?"),
            (PusherClientOptions(path: "/a%20b"), "wss://ws.pusherapp.com:443/a%20b/app/key?"),
        ]
    )
    func url(options: PusherClientOptions, url: String) throws {
        let endpoint = Endpoint(key: "key", options: options)
        #expect(endpoint.url == url + Self.query)
        let request = try endpoint.request(options: options)
        #expect(endpoint.url.hasSuffix(request.path))
        #expect(request.port == options.port && request.useTLS == options.useTLS)
        #expect(!request.host.contains("["))
        #expect(request.subprotocol == nil && request.headers.isEmpty)
    }

    @Test("The contents of the upgrade request")
    func upgrade() throws {
        let options = PusherClientOptions(headers: ["X-B": "2", "X-A": "1"], subprotocol: "pusher-channels-protocol-7")
        let request = try Endpoint(key: "key", options: options).request(options: options)
        #expect(request.headers == [.init(name: "X-A", value: "1"), .init(name: "X-B", value: "2")])
        #expect(request.subprotocol == "pusher-channels-protocol-7")
    }

    private func expect(
        _ code: PusherClientError.Code,
        naming value: String,
        _ options: PusherClientOptions,
        key: String = "key"
    ) {
        let error = #expect(throws: PusherClientError.self) {
            try Endpoint(key: key, options: options).request(options: options)
        }
        #expect(error?.code == code)
        #expect(error?.message.contains(value) == true, "\(error?.message ?? "")")
    }

    @Test("Invalid keys", arguments: ["", "a b", "a/b", "a?b", "a#b", "ä", "a\nb", "a%20b", "🔑"])
    func keys(key: String) {
        expect(.invalidKey, naming: String(reflecting: key), PusherClientOptions(), key: key)
    }

    @Test("Valid keys", arguments: ["278d425bdf160c739803", "a-b_c.d~e", "A"])
    func usableKeys(key: String) throws {
        _ = try Endpoint(key: key, options: PusherClientOptions()).request(options: PusherClientOptions())
    }

    @Test("An invalid cluster is named as the mistake", arguments: [("", "it is empty"), ("ws.example", "has no dot")])
    func clusters(cluster: String, why: String) {
        let options = PusherClientOptions(endpoint: .pusher(cluster: cluster))
        let error = #expect(throws: PusherClientError.self) {
            try Endpoint(key: "key", options: options).request(options: options)
        }
        #expect(error?.code == .invalidHost)
        #expect(error?.message.contains("Invalid cluster \"\(cluster)\": ") == true)
        #expect(error?.message.contains(why) == true)
    }

    @Test(
        "Invalid hosts",
        arguments: [
            "", " ", "https://a.example", "a.example/path", "a.example:443", "a b", "ä.example", "a..example",
            ".example",
            "user@a.example", "[::1", "[::1]:443", "::1]", "[a.example]", "[]", "[", "a]", ":", "::g", "1:2",
            "a:b:example", "1:2:3:4:5:6:7:8:9", "::1/64", "a\r\nX: y", String(repeating: "a", count: 256),
        ]
    )
    func hosts(host: String) {
        expect(
            .invalidHost,
            // The error does not repeat a host with an @, because the part before the @ may be a password.
            naming: host.contains("@") ? "Invalid host: it is neither" : String(reflecting: String(host.prefix(200))),
            PusherClientOptions(host: .host(host))
        )
    }

    @Test(
        "Valid hosts",
        arguments: [
            "a", "a.example", "a.example.", "my_host", "10.0.0.1", "::", "::1", "[::1]", "2001:db8::ff00:42:8329",
            "fe80::1%eth0", "::ffff:10.0.0.1", "2001:DB8::1",
        ]
    )
    func usableHosts(host: String) throws {
        _ = try Endpoint(key: "key", options: PusherClientOptions(host: .host(host))).request(
            options: PusherClientOptions(host: .host(host))
        )
    }

    @Test("Invalid ports", arguments: [0, -1, 65_536, Int.max, Int.min])
    func ports(port: Int) { expect(.invalidPort, naming: "\(port)", PusherClientOptions(port: port)) }

    @Test(
        "Invalid paths",
        arguments: ["a", "a/", "/a b", "/a?b", "/a#b", "/ä", "/a\r\nX: y", "/a\\b", "/a\"b"]
    )
    func paths(path: String) {
        expect(.invalidPath, naming: String(reflecting: path), PusherClientOptions(path: path))
    }

    @Test("Invalid activity timeouts", arguments: [0, 1e-300, -1, -Double.infinity, .nan])
    func activityTimeouts(timeout: Double) {
        expect(.invalidOption, naming: "activityTimeout", PusherClientOptions(activityTimeout: timeout))
    }

    @Test(
        "Activity timeouts of any length",
        arguments: [(0.5, 0.5), (1e300, 3_155_760_000), (.infinity, 3_155_760_000)] as [(Double, Double)]
    )
    func usableActivityTimeouts(timeout: Double, seconds: Double) {
        let options = PusherClientOptions(activityTimeout: timeout)
        let configuration = CoreConfiguration(Endpoint(key: "key", options: options), options: options)
        #expect(configuration.activityTimeout == .seconds(seconds))
    }

    @Test(
        "Invalid timeouts",
        arguments: [
            ("connectionAttempt", PusherTimeouts(connectionAttempt: .zero)),
            ("unavailable", .init(unavailable: .zero)), ("pong", .init(pong: .seconds(-1))),
            ("subscription", .init(subscription: .zero)), ("closing", .init(closing: .nanoseconds(-1))),
            ("backOffReset", .init(backOffReset: .seconds(-1))),
        ]
    )
    func timeouts(name: String, timeouts: PusherTimeouts) {
        expect(.invalidOption, naming: name, PusherClientOptions(timeouts: timeouts))
    }

    @Test(
        "Invalid limits",
        arguments: [
            ("messageSize", PusherClientOptions.Limits(messageSize: 0)), ("sequenceBuffer", .init(sequenceBuffer: -1)),
            ("pendingCallbacks", .init(pendingCallbacks: .min)), ("channels", .init(channels: 0)),
            ("bindings", .init(bindings: 0)), ("members", .init(members: 0)),
            ("sendBufferSize", .init(sendBufferSize: 0)), ("messageSize", .init(messageSize: (1 << 30) + 1)),
        ]
    )
    func limits(name: String, limits: PusherClientOptions.Limits) {
        expect(.invalidOption, naming: name, PusherClientOptions(limits: limits))
    }

    @Test(
        "The error for an invalid header does not show its value",
        arguments: [
            ("", "secret"), ("A B", "secret"), ("A:", "secret"), ("Ä", "secret"), ("A", "secret\r\nB: c"),
            ("A", "secret\0"), ("Upgrade", "secret"), ("Sec-WebSocket-Protocol", "secret"),
            ("Content-Length", "secret"),
        ]
    )
    func headers(name: String, value: String) {
        let options = PusherClientOptions(headers: [name: value])
        expect(.invalidOption, naming: String(reflecting: name), options)
        let error = #expect(throws: PusherClientError.self) {
            try Endpoint(key: "key", options: options).request(options: options)
        }
        #expect(error?.message.contains("secret") == false)
    }

    @Test("Invalid subprotocols", arguments: ["", "a b", "a,b", "ä", "a\r\n"])
    func subprotocols(subprotocol: String) {
        expect(.invalidOption, naming: String(reflecting: subprotocol), PusherClientOptions(subprotocol: subprotocol))
    }

    @Test("The error for a very long value does not repeat the value in full")
    func longValues() throws {
        let key = String(repeating: " ", count: 1_000_000)
        let error = #expect(throws: PusherClientError.self) {
            try Endpoint(key: key, options: PusherClientOptions()).request(options: PusherClientOptions())
        }
        #expect(try #require(error).message.utf8.count < 1_000)
    }
}
