// swift-tools-version: 6.2
import PackageDescription

// This package is separate, because it enables traits of PusherClient. With other traits, PusherClient is compiled
// again.
let warningsAreErrors = Context.environment["PUSHER_WARNINGS_AS_ERRORS"] == "1"

let package = Package(
    name: "Worker",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "PusherClient", path: "../..", traits: [.defaults, "Metrics", "ServiceLifecycle"]),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.1.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.11.0"),
    ],
    targets: [
        .executableTarget(
            name: "worker",
            dependencies: [
                .product(name: "PusherClient", package: "PusherClient"),
                .product(name: "PusherTestServer", package: "PusherClient"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Worker",
            swiftSettings: warningsAreErrors ? [.treatAllWarnings(as: .error)] : []
        )
    ],
    swiftLanguageModes: [.v6]
)
