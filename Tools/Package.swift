// swift-tools-version: 6.2
import PackageDescription

// Programs that check the products from outside. `make autobahn`, `make test-network` and `.ci/sse-peer` run them.
// `sse-contract-service` is for the contract suite of event source clients. The programs are in a separate package, so
// they can use only the public API of the products.
let warningsAreErrors = Context.environment["PUSHER_WARNINGS_AS_ERRORS"] == "1"
let settings: [SwiftSetting] = warningsAreErrors ? [.treatAllWarnings(as: .error)] : []

let package = Package(
    name: "Tools",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "PusherClient", path: "..", traits: [.defaults, "Compression"]),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.11.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.92.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.25.0"),
    ],
    targets: [
        .executableTarget(
            name: "autobahn-client",
            dependencies: [
                .product(name: "WebSocketClient", package: "PusherClient"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "AutobahnClient",
            exclude: ["run.sh"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "network-check",
            dependencies: [
                .product(name: "PusherClient", package: "PusherClient"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "NetworkCheck",
            exclude: ["run.sh"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "sse-contract-service",
            dependencies: [
                .product(name: "ServerSentEvents", package: "PusherClient"),
                .product(name: "EventSourceTestServer", package: "PusherClient"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "SSEContractService",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "sse-follow",
            dependencies: [
                .product(name: "ServerSentEvents", package: "PusherClient"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "SSEFollow",
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
