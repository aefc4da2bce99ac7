// swift-tools-version: 6.2
import PackageDescription

// A package that depends on PusherClient, as apps do. `make test-consumer` builds and runs the package. It also works
// in a copy of this folder, if the environment variable `PUSHER_CLIENT` contains the path of PusherClient. With
// `WITHOUT_SODIUM`, it turns off the trait that links libsodium.
let pusherClient = Context.environment["PUSHER_CLIENT"] ?? "../.."

let traits: Set<Package.Dependency.Trait> = Context.environment["WITHOUT_SODIUM"] == nil ? [.defaults] : []

let client = Target.Dependency.product(name: "PusherClient", package: "PusherClient")
let webSocket = Target.Dependency.product(name: "WebSocketClient", package: "PusherClient")
let events = Target.Dependency.product(name: "ServerSentEvents", package: "PusherClient")
let eventServer = Target.Dependency.product(name: "EventSourceTestServer", package: "PusherClient")
let signalR = Target.Dependency.product(name: "SignalRClient", package: "PusherClient")
let hub = Target.Dependency.product(name: "SignalRTestServer", package: "PusherClient")
let serverAPI = Target.Dependency.product(name: "PusherServerAPI", package: "PusherClient")
let testServer = Target.Dependency.product(name: "PusherTestServer", package: "PusherClient")

let package = Package(
    name: "Consumer",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "PusherClient", path: pusherClient, traits: traits)
    ],
    targets: [
        .target(
            name: "Swift5App",
            dependencies: [client, events, signalR],
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        .target(name: "Swift6App", dependencies: [client, events, signalR]),
        .target(
            name: "MainActorApp",
            dependencies: [client, events, signalR],
            swiftSettings: [.defaultIsolation(MainActor.self)]
        ),
        .executableTarget(
            name: "Consumer",
            dependencies: [
                "Swift5App", "Swift6App", "MainActorApp", webSocket, serverAPI, testServer, events, eventServer,
                signalR,
                hub,
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
