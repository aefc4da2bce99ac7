// swift-tools-version: 6.3
import PackageDescription

// Programs that check the products from outside: `make autobahn` and `make test-network` run them. They are in a package
// of their own, so that they can use nothing that a user of the products could not use.
let warningsAreErrors = Context.environment["PUSHER_WARNINGS_AS_ERRORS"] == "1"
let settings: [SwiftSetting] = warningsAreErrors ? [.treatAllWarnings(as: .error)] : []

let package = Package(
    name: "Tools",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "PusherClient", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
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
    ],
    swiftLanguageModes: [.v6]
)
