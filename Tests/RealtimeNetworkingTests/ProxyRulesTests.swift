import RealtimePrimitives
import TestTraits
import Testing

@testable import RealtimeNetworking

@Suite("The proxy of each connection", .limited)
struct ProxyRulesTests {
    private static let variables = [
        "https_proxy": "http://tls.example:3128", "http_proxy": "http://plain.example:3129",
    ]

    private func proxy(
        for host: String,
        port: Int = 443,
        useTLS: Bool = true,
        _ rules: ProxyRules
    ) throws -> String? {
        try rules.proxy(
            forHost: host,
            port: port,
            useTLS: useTLS,
            tls: TLSOptions(certificateVerification: .noHostnameVerification)
        )
        .map { "\($0.host):\($0.port)" }
    }

    private func rules(exempting: [String]) -> ProxyRules {
        ProxyRules(.server(host: "proxy.example", port: 3128, exempting: exempting))
    }

    private func rules(_ environment: [String: String]) -> ProxyRules {
        ProxyRules(.environment, environment: environment)
    }

    // MARK: The environment

    @Test(
        "reads the same environment variables as curl",
        arguments: [
            ([:], nil, nil),
            (variables, "tls.example:3128", "plain.example:3129"),
            (["HTTPS_PROXY": "http://a.example:1"], "a.example:1", nil),
            (["https_proxy": "http://a.example:1", "HTTPS_PROXY": "http://b.example:2"], "a.example:1", nil),
            (["https_proxy": "", "HTTPS_PROXY": "http://b.example:2"], "b.example:2", nil),
            (["all_proxy": "http://a.example:1"], "a.example:1", "a.example:1"),
            (["ALL_PROXY": "a.example:1", "https_proxy": "b.example"], "b.example:80", "a.example:1"),
            (["https_proxy": "HTTP://a.example:1/"], "a.example:1", nil),
            (["https_proxy": "http://[::1]:3128"], "::1:3128", nil),
        ] as [([String: String], String?, String?)]
    )
    func environment(variables: [String: String], forTLS: String?, forPlain: String?) throws {
        let rules = rules(variables)
        #expect(try proxy(for: "ws.example.com", rules) == forTLS)
        #expect(try proxy(for: "ws.example.com", port: 80, useTLS: false, rules) == forPlain)
        let direct = ProxyRules(.direct, environment: variables)
        #expect(try proxy(for: "ws.example.com", direct) == nil)
    }

    @Test("ignores HTTP_PROXY in capitals, which a request header can set in a CGI program")
    func capitals() throws {
        let rules = rules(["HTTP_PROXY": "http://a.example:1"])
        #expect(try proxy(for: "ws.example.com", port: 80, useTLS: false, rules) == nil)
    }

    @Test(
        "connects to this machine without the proxy of the environment",
        arguments: [
            "localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1",
        ]
    )
    func loopback(host: String) throws {
        #expect(try proxy(for: host, rules(Self.variables)) == nil)
        #expect(try proxy(for: host, rules(exempting: [])) == "proxy.example:3128")
    }

    @Test("reads a percent-encoded user name and password from the URL")
    func credentials() throws {
        let rules = rules(["https_proxy": "http://ad%40min:p%3Ass@a.example:1", "no_proxy": "b.example"])
        let proxy = try rules.proxy(forHost: "c.example", port: 443, useTLS: true, tls: TLSOptions())
        #expect(proxy?.credentials == .init(username: "ad@min", password: "p:ss"))
        // RFC 7617: the base64 of "ad@min:p:ss".
        #expect(proxy?.authorization == "Basic YWRAbWluOnA6c3M=")
        #expect(try self.proxy(for: "b.example", rules) == nil)
    }

    @Test(
        "rejects an invalid proxy in the environment without showing its password",
        arguments: [
            ("https://me:secret@a.example", "https_proxy"), ("socks5://me:secret@a.example:1080", "all_proxy"),
            ("http://me:secret@", "https_proxy"), ("http://me:secret@a b:1", "https_proxy"),
            ("http://me:4711/secret@a.example:1", "https_proxy"), ("http://me:4711#secret@a.example:1", "https_proxy"),
            ("http://me:4711?secret@a.example:1", "https_proxy"), ("http://me:secret@a.example:99999", "https_proxy"),
            ("http://me:secret@a..b/", "https_proxy"),
        ]
    )
    func unusable(url: String, variable: String) {
        let error = #expect(throws: NetworkError.self) {
            try proxy(for: "ws.example.com", rules([variable: url]))
        }
        #expect(error?.code == .invalidProxy)
        #expect(error?.description.contains("secret") == false)
        #expect(error?.message.contains(variable) == true)
    }

    @Test("an invalid variable does not affect connections that do not use it")
    func oneUnusable() throws {
        let rules = rules([
            "HTTPS_PROXY": "http://a.example:1", "ALL_PROXY": "socks5://b.example:1080", "NO_PROXY": "c.example",
        ])
        #expect(try proxy(for: "ws.example.com", rules) == "a.example:1")
        for host in ["localhost", "127.0.0.1", "c.example"] {
            #expect(try proxy(for: host, port: 80, useTLS: false, rules) == nil)
        }
        #expect(throws: NetworkError.self) { try proxy(for: "ws.example.com", port: 80, useTLS: false, rules) }
    }

    // MARK: Exemptions

    @Test(
        "connects to exempt hosts directly",
        arguments: [
            ("*", "any.example"), ("example.com", "example.com"), ("example.com", "ws.Example.com"),
            (".example.com", "example.com"), ("*.example.com", "a.b.example.com"), ("EXAMPLE.com.", "example.com."),
            ("example.com:443", "example.com"), ("10.0.0.0/8", "10.200.3.4"), ("10.0.0.1", "10.0.0.1"),
            ("10.0.0.1:443", "10.0.0.1"), ("192.168.0.0/23", "192.168.1.255"), ("::1", "[::1]"), ("[::1]:443", "::1"),
            ("[::1]", "::1"), ("2001:db8::/33", "2001:db8:7fff::1"), ("0.0.0.0/0", "1.2.3.4"), ("::/0", "2001::1"),
            ("10.0.0.1", "::ffff:10.0.0.1"), ("::ffff:10.0.0.0/104", "10.9.9.9"), ("fe80::1", "fe80::1%eth0"),
            ("localhost", "localhost"),
        ]
    )
    func exempt(entry: String, host: String) throws {
        #expect(try proxy(for: host, rules(exempting: ["other.example", entry])) == nil)
        let rules = rules(["https_proxy": "a.example", "no_proxy": "other.example, \(entry) ,x"])
        #expect(try proxy(for: host, rules) == nil)
    }

    @Test(
        "connects to hosts that are not exempt through the proxy",
        arguments: [
            ("example.com", "notexample.com"), ("example.com", "example.com.evil.example"),
            ("ws.example.com", "example.com"),
            ("example.com:80", "example.com"), ("10.0.0.0/8", "11.0.0.1"), ("192.168.0.0/23", "192.168.2.0"),
            ("2001:db8::/33", "2001:db8:8000::1"), ("0.0.0.0/0", "::2"), ("10.0.0.1", "10.0.0.10"), ("::2", "::1"),
            ("10.0.0.0/8", "10.example"),
        ]
    )
    func notExempt(entry: String, host: String) throws {
        #expect(try proxy(for: host, rules(exempting: [entry])) == "proxy.example:3128")
    }

    @Test(
        "rejects an invalid exemption in the option, and ignores it in the environment",
        arguments: [
            "", "a b", "10.0.0.0/33", "10.0.0.0/x", "10.0.0.0/8/8", "a.example:0", "a.example:x", "a:b:c", "/",
            "::1/129", "a..b", "::ffff:10.0.0.1/95", "::ffff:10.0.0.1/129", "::ffff:10.0.0.1/-9223372036854775808",
        ]
    )
    func invalidEntries(entry: String) throws {
        let error = #expect(throws: NetworkError.self) {
            try proxy(for: "ws.example.com", rules(exempting: [entry]))
        }
        #expect(error?.code == .invalidProxy)
        #expect(error?.message.contains(entry.quoted) == true)
        #expect(
            try proxy(for: "ws.example.com", rules(["https_proxy": "a.example", "no_proxy": entry])) == "a.example:80"
        )
    }

    @Test("TLS to an address uses a proxy only if the client does not check the certificate's host")
    func addresses() throws {
        let rules = rules(exempting: [])
        #expect(throws: NetworkError.self) {
            try rules.proxy(forHost: "10.0.0.1", port: 443, useTLS: true, tls: TLSOptions())
        }
        #expect(try rules.proxy(forHost: "10.0.0.1", port: 80, useTLS: false, tls: TLSOptions()) != nil)
        #expect(try proxy(for: "10.0.0.1", rules) != nil)
    }

    @Test("printing or dumping a proxy shows no credentials")
    func secrecy() {
        let proxy = HTTPProxy.server(
            host: "proxy.example",
            port: 3128,
            credentials: .init(username: "the-user", password: "the-password")
        )
        var text = "\(proxy) \(String(reflecting: proxy))"
        dump(proxy, to: &text)
        #expect(text.contains("proxy.example"))
        #expect(!text.contains("the-user") && !text.contains("the-password"))
    }
}
