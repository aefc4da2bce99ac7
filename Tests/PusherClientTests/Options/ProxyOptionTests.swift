import ClientTestSupport
import PusherClient
import TestTraits
import Testing

@Suite("The proxy of the options", .limited)
struct ProxyOptionTests {
    @Test("The client uses the proxy of the environment unless the options set a proxy")
    func byDefault() {
        #expect(PusherClientOptions().proxy == .environment)
        #expect(PusherClientOptions(endpoint: .pusher(cluster: "eu")).proxy == .environment)
    }

    @Test(
        "The client rejects an invalid proxy before the first attempt, and names the invalid value",
        arguments: [
            (HTTPProxy.server(host: "a b", port: 3128), #""a b""#),
            (.server(host: "http://proxy", port: 3128), "http://proxy"), (.server(host: "", port: 3128), #""""#),
            (.server(host: "proxy.example", port: 0), "port 0"),
            (.server(host: "http://me:secret@proxy.example", port: 80), "Invalid proxy host: it is neither"),
            (.server(host: "proxy.example", port: 3128, credentials: .init(username: "a:b", password: "c")), "colon"),
            (.server(host: "proxy.example", port: 3128, credentials: .init(username: "a", password: "c\n")), "control"),
            (.server(host: "proxy.example", port: 3128, exempting: ["a b"]), #""a b""#),
        ]
    )
    func refused(proxy: HTTPProxy, naming text: String) async {
        let pusher = Pusher(key: "key", options: PusherClientOptions(proxy: proxy, logger: .quiet))
        let error = await #expect(throws: PusherClientError.self) { try await pusher.connected() }
        #expect(error?.code == .invalidProxy)
        #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false)
    }

    @Test("The client rejects TLS to an address through a proxy before the first attempt")
    func address() async {
        let options = PusherClientOptions(
            host: .host("10.0.0.1"),
            proxy: .server(host: "proxy.example", port: 3128),
            logger: .quiet
        )
        let error = await #expect(throws: PusherClientError.self) {
            try await Pusher(key: "key", options: options).connected()
        }
        #expect(error?.code == .invalidProxy)
    }
}
