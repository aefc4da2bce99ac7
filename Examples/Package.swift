// swift-tools-version: 6.3
import PackageDescription

// Programs that show the products at work. They use what a user of the package can use.
let warningsAreErrors = Context.environment["PUSHER_WARNINGS_AS_ERRORS"] == "1"
let settings: [SwiftSetting] = warningsAreErrors ? [.treatAllWarnings(as: .error)] : []

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "PusherClient", path: "..")],
    targets: [
        .executableTarget(
            name: "sse-demo",
            dependencies: [
                .product(name: "ServerSentEvents", package: "PusherClient"),
                .product(name: "EventSourceTestServer", package: "PusherClient"),
            ],
            path: "Sources/SSEDemo",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "signalr-chat",
            dependencies: [
                .product(name: "SignalRClient", package: "PusherClient"),
                .product(name: "SignalRTestServer", package: "PusherClient"),
            ],
            path: "Sources/SignalRChat",
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
