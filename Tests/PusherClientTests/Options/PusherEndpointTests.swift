import ClientTestSupport
import Foundation
import RealtimePrimitives
import TestTraits
import Testing

@testable import PusherClient

@Suite("Presets of servers, and additions to their URL", .limited)
struct PusherEndpointTests {
    private static let query = "client=pusher-client-swift&version=\(Endpoint.version)&protocol=7"

    @Test(
        "The URL",
        arguments: [
            (.pusher(cluster: "eu"), "wss://ws-eu.pusher.com:443/app/key?"),
            (.reverb(host: "ws.example.com"), "wss://ws.example.com:443/app/key?"),
            (.reverb(host: "127.0.0.1", useTLS: false), "ws://127.0.0.1:8080/app/key?"),
            (
                .reverb(host: "ws.example.com", port: 9_000, path: "/reverb"),
                "wss://ws.example.com:9000/reverb/app/key?"
            ),
            (.soketi(host: "ws.example.com"), "wss://ws.example.com:6001/app/key?"),
            (.soketi(host: "::1", useTLS: false), "ws://[::1]:6001/app/key?"),
            (.soketi(host: "ws.example.com", port: 443, path: "/ws/"), "wss://ws.example.com:443/ws/app/key?"),
            (PusherEndpoint(host: "ws.example.com"), "wss://ws.example.com:443/app/key?"),
            (PusherEndpoint(host: "ws.example.com", useTLS: false), "ws://ws.example.com:80/app/key?"),
        ] as [(PusherEndpoint, String)]
    )
    func url(endpoint: PusherEndpoint, url: String) {
        let options = PusherClientOptions(endpoint: endpoint)
        let pusher = Pusher(key: "key", options: options)
        #expect(pusher.connection.url == url + Self.query)
        #expect(pusher.connection.endpoint == endpoint)
        #expect(options.endpoint == endpoint)
        #expect(options.host == endpoint.host && options.port == endpoint.port)
        #expect(options.path == endpoint.path && options.useTLS == endpoint.useTLS)
    }

    @Test("Options with an endpoint equal options with a host")
    func sameDefaults() {
        let (one, other) = (
            PusherClientOptions(endpoint: .pusher(cluster: "eu")), PusherClientOptions(host: .cluster("eu"))
        )
        let differences = zip(Mirror(reflecting: one).children, Mirror(reflecting: other).children).filter {
            one,
            other in
            one.label != "changeable" && one.label != "logger"
                && String(describing: one.value) != String(describing: other.value)
        }
        #expect(differences.map(\.0.label) == [])
    }

    @Test("The app's query items follow the client's own items and are percent-encoded")
    func queryItems() throws {
        let items = [
            URLQueryItem(name: "tenant", value: "a b&c=ü/~"), URLQueryItem(name: "debug", value: nil),
            URLQueryItem(name: "x y", value: ""),
        ]
        let options = PusherClientOptions(queryItems: items)
        let endpoint = Endpoint(key: "key", options: options)
        let suffix = "&tenant=a%20b%26c%3D%C3%BC%2F~&debug&x%20y="
        #expect(endpoint.url == "wss://ws.pusherapp.com:443/app/key?" + Self.query + suffix)
        #expect(try endpoint.request(options: options).path == "/app/key?" + Self.query + suffix)
    }

    @Test(
        "The client rejects query items without a name, or with the name of its own items",
        arguments: ["client", "version", "protocol", ""]
    )
    func refusedItems(name: String) {
        let options = PusherClientOptions(queryItems: [URLQueryItem(name: name, value: "1")])
        let error = #expect(throws: PusherClientError.self) {
            try Endpoint(key: "key", options: options).request(options: options)
        }
        #expect(error?.code == .invalidOption)
        #expect(error?.message.contains(name.quoted) == true)
    }

    @Test(
        "switchTo() throws an error that names the invalid endpoint, and changes nothing",
        arguments: [
            (PusherEndpoint(host: "a b"), nil, .invalidHost, "a b"),
            (PusherEndpoint(host: "https://a.example"), nil, .invalidHost, "https://a.example"),
            (PusherEndpoint(host: "a.example", port: 70_000), nil, .invalidPort, "70000"),
            (PusherEndpoint(host: "a.example", path: "x"), nil, .invalidPath, "x"),
            (PusherEndpoint(host: "a.example"), "a/b", .invalidKey, "a/b"),
        ] as [(PusherEndpoint, String?, PusherClientError.Code, String)]
    )
    func refusedSwitch(endpoint: PusherEndpoint, key: String?, code: PusherClientError.Code, naming text: String) {
        let pusher = Pusher(key: "key", options: PusherClientOptions(endpoint: .pusher(cluster: "eu")))
        let error = #expect(throws: PusherClientError.self) { try pusher.switchTo(endpoint: endpoint, key: key) }
        #expect(error?.code == code)
        #expect(error?.message.contains(text) == true)
        #expect(pusher.connection.endpoint == .pusher(cluster: "eu"))
        #expect(pusher.connection.key == "key")
    }
}
