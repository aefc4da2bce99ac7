// swift-tools-version: 6.2
import PackageDescription

// Programs that show the products in use. They use only the public API. To run one of them:
//
//     swift run --package-path Examples terminal-chat        # two people chat, on a server in the same process
//     swift run --package-path Examples terminal-chat ada    # you chat, on the server that `make serve` starts
//     swift run --package-path Examples sse-demo             # a feed survives the restart of its server
//     swift run --package-path Examples signalr-chat         # two people chat over SignalR
//     swift run --package-path Examples test-hub 8351        # a SignalR hub with many methods, for any client
let warningsAreErrors = Context.environment["PUSHER_WARNINGS_AS_ERRORS"] == "1"
let settings: [SwiftSetting] = warningsAreErrors ? [.treatAllWarnings(as: .error)] : []

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "PusherClient") }

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [.package(name: "PusherClient", path: "..")],
    targets: [
        // The room, which the terminal and the SwiftUI view show. The room's access level is `package`, so that the
        // other targets can use it. In an app with one target, the level would be `internal`.
        .target(name: "Chat", dependencies: [product("PusherClient")], swiftSettings: settings),
        .executableTarget(
            name: "terminal-chat",
            dependencies: ["Chat", product("PusherClient"), product("PusherTestServer")],
            path: "Sources/TerminalChat",
            swiftSettings: settings
        ),
        // The room in SwiftUI.
        .target(name: "ChatView", dependencies: ["Chat"], swiftSettings: settings),
        // The screen of a shop: a model that is tested on Linux, and its view in SwiftUI.
        .target(
            name: "Dashboard",
            dependencies: [product("PusherClient"), product("PusherObservation")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DashboardTests",
            dependencies: ["Dashboard", product("PusherClient"), product("PusherTestServer")],
            swiftSettings: settings
        ),
        // Tests of the room in Swift Testing, and one in XCTest.
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
        // A client of the Model Context Protocol, on event streams.
        .target(name: "MCPClient", dependencies: [product("ServerSentEvents")], swiftSettings: settings),
        .testTarget(
            name: "MCPClientTests",
            dependencies: ["MCPClient", product("EventSourceTestServer")],
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
        .executableTarget(
            name: "test-hub",
            dependencies: [product("SignalRClient"), product("SignalRTestServer")],
            path: "Sources/TestHub",
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
