// swift-tools-version: 6.2
import PackageDescription

// Warnings are errors in CI only, as in the client's package.
let warningsAreErrors = Context.environment["PUSHER_WARNINGS_AS_ERRORS"] == "1"

let features: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
]
let settings = features + (warningsAreErrors ? [.treatAllWarnings(as: .error)] : [])

// The benchmarks also measure the decoder and the engine without a socket. Both are `package` in the client, so one
// target is compiled under the client's package name. `-enable-testing` would change the build of the client. SwiftPM
// derives the package name from the name of the folder.
let clientPackageName = String(
    Context.packageDirectory.split(separator: "/").dropLast().last.map { folder in
        folder.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" }
    } ?? []
)

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS("15.0")],
    products: [.library(name: "AllocationCount", type: .dynamic, targets: ["AllocationCount"])],
    dependencies: [
        .package(name: "PusherClient", path: ".."),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.92.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.31.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.11.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.25.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CSodiumReference",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
        ),
        .target(name: "Workload", swiftSettings: settings),
        .target(name: "SodiumReference", dependencies: ["CSodiumReference"], swiftSettings: settings),
        .executableTarget(
            name: "Generator",
            dependencies: [
                "Workload",
                "SodiumReference",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .target(name: "AllocationCount"),
        .target(name: "CReference"),
        .executableTarget(
            name: "Subject",
            dependencies: [
                "CReference",
                "Workload",
                "SodiumReference",
                .product(name: "PusherClient", package: "PusherClient"),
                .product(name: "ServerSentEvents", package: "PusherClient"),
                .product(name: "SignalRClient", package: "PusherClient"),
                .product(name: "WebSocketClient", package: "PusherClient"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
            ],
            // With package access, SwiftPM would pass the name of this package.
            packageAccess: false,
            swiftSettings: settings + [.unsafeFlags(["-package-name", clientPackageName])]
        ),
        .executableTarget(name: "BenchmarkRunner", dependencies: ["Workload"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
