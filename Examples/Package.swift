// swift-tools-version: 6.3
import PackageDescription

// Programs that show the products in use. They use only the public API.
let warningsAreErrors = Context.environment["PUSHER_WARNINGS_AS_ERRORS"] == "1"
let settings: [SwiftSetting] = warningsAreErrors ? [.treatAllWarnings(as: .error)] : []

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "PusherClient") }

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "PusherClient", path: "..")],
    targets: [
        .target(name: "Chat", dependencies: [product("PusherClient")], swiftSettings: settings),
        .executableTarget(
            name: "terminal-chat",
            dependencies: ["Chat", product("PusherClient"), product("PusherTestServer")],
            path: "Sources/TerminalChat",
            swiftSettings: settings
        ),
        .target(name: "ChatView", dependencies: ["Chat"], swiftSettings: settings),
        .testTarget(
            name: "ChatTests",
            dependencies: ["Chat", product("PusherClient"), product("PusherTestServer")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ChatXCTests",
            dependencies: ["Chat", product("PusherClient"), product("PusherTestServer")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "sse-demo",
            dependencies: [product("ServerSentEvents"), product("EventSourceTestServer")],
            path: "Sources/SSEDemo",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "signalr-chat",
            dependencies: [product("SignalRClient"), product("SignalRTestServer")],
            path: "Sources/SignalRChat",
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
