// swift-tools-version: 6.2
import PackageDescription

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket = Target.Dependency.product(name: "NIOWebSocket", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioConcurrencyHelpers = Target.Dependency.product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let atomics = Target.Dependency.product(name: "Atomics", package: "swift-atomics")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let serviceLifecycle = Target.Dependency.product(
    name: "ServiceLifecycle",
    package: "swift-service-lifecycle",
    condition: .when(traits: ["ServiceLifecycle"])
)

let metrics = Target.Dependency.product(
    name: "CoreMetrics",
    package: "swift-metrics",
    condition: .when(traits: ["Metrics"])
)

let metricsTestKit = Target.Dependency.product(
    name: "MetricsTestKit",
    package: "swift-metrics",
    condition: .when(traits: ["Metrics"])
)

/// The targets that need libsodium see it only on systems that have the library. `canImport` says so to the code.
let applePlatforms: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]
let systemSodium = Target.Dependency.target(
    name: "CSodium",
    condition: .when(platforms: [.linux, .macOS], traits: ["SystemSodium"])
)
let bundledSodium = Target.Dependency.product(
    name: "Clibsodium",
    package: "swift-sodium",
    condition: .when(platforms: applePlatforms, traits: ["BundledSodium"])
)

let zlib = Target.Dependency.target(name: "CZlib", condition: .when(traits: ["Compression"]))

/// Warnings are errors in CI only. A dependent must never see this setting: Xcode, and SwiftPM with `swiftbuild`, pass
/// `-suppress-warnings` to dependencies, and the compiler refuses the two together.
let warningsAreErrors = Context.environment["PUSHER_WARNINGS_AS_ERRORS"] == "1"
let warnings: [SwiftSetting] = warningsAreErrors ? [.treatAllWarnings(as: .error)] : []

let features: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
]
let settings = features + warnings

/// What `make fuzz` adds to the code that it looks into: the memory is watched, and what an input reaches is counted.
/// Only there, since nobody can depend on a package with such flags.
let isFuzzing = Context.environment["PUSHER_FUZZING"] == "1"
let fuzzed = settings + (isFuzzing ? [.define("FUZZING"), .unsafeFlags(["-sanitize=fuzzer,address"])] : [])

/// Runs the code for processors without known vector instructions, for `make check-decoder`.
let usesPlainJSON = Context.environment["PUSHER_PLAIN_JSON"] == "1"

let package = Package(
    name: "PusherClient",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "PusherClient", targets: ["PusherClient"]),
        .library(name: "PusherObservation", targets: ["PusherObservation"]),
        .library(name: "PusherServerAPI", targets: ["PusherServerAPI"]),
        .library(name: "WebSocketClient", targets: ["WebSocketClient"]),
        .library(name: "ServerSentEvents", targets: ["ServerSentEvents"]),
        .library(name: "EventSourceTestServer", targets: ["EventSourceTestServer"]),
        .library(name: "SignalRClient", targets: ["SignalRClient"]),
        .library(name: "PusherTestServer", targets: ["PusherTestServer"]),
        .library(name: "PusherVirtualTime", targets: ["PusherVirtualTime"]),
        .library(name: "SignalRTestServer", targets: ["SignalRTestServer"]),
        .executable(name: "pusher", targets: ["pusher"]),
    ],
    traits: [
        .default(enabledTraits: ["SystemSodium"]),
        .trait(
            name: "SystemSodium",
            description: "Encrypted channels, with the system's libsodium: on Linux and macOS."
        ),
        .trait(
            name: "BundledSodium",
            description: "Encrypted channels, with the libsodium of the package swift-sodium: on Apple's platforms."
        ),
        .trait(name: "Compression", description: "WebSocketClient compresses messages, with the system's zlib."),
        .trait(name: "Metrics", description: "Pusher tells swift-metrics what it counts."),
        .trait(name: "ServiceLifecycle", description: "Pusher is a Service of swift-service-lifecycle."),
    ],
    dependencies: [
        // Each floor is the oldest release that serves. A floor rises only if the code uses something newer.
        // ByteBuffer.readableBytesUInt8Span
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.92.0"),
        // NIO asks for it.
        .package(url: "https://github.com/apple/swift-atomics.git", from: "1.1.0"),
        // Builds in Swift 6 mode beside this NIO.
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.31.0"),
        // The oldest that was tried.
        .package(url: "https://github.com/apple/swift-log.git", from: "1.11.0"),
        // The oldest that was tried.
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.4.0"),
        // CoreMetrics.Meter
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.4.0"),
        // The oldest that was tried.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.1.0"),
        // The oldest with libraries for visionOS. The package's next version has no module of this name.
        .package(url: "https://github.com/jedisct1/swift-sodium.git", .upToNextMinor(from: "0.10.0")),
    ],
    targets: [
        .systemLibrary(
            name: "CSodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
        ),
        // Without pkgConfig, whose absence SwiftPM would report even if the trait is off.
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        // What the clients of all protocols have in common. Their modules have distinctive names, because module names are
        // global to a dependent's graph.
        .target(name: "RealtimePrimitives", swiftSettings: fuzzed),
        .target(
            name: "RealtimeNetworking",
            dependencies: [
                "RealtimePrimitives", nioCore, nioPosix, nioHTTP1, .product(name: "NIOTLS", package: "swift-nio"),
                nioConcurrencyHelpers, nioSSL,
            ],
            swiftSettings: fuzzed
        ),
        .target(
            name: "RealtimeHTTP",
            dependencies: [
                "RealtimePrimitives", "RealtimeNetworking", nioCore, nioPosix, nioHTTP1, nioConcurrencyHelpers, nioSSL,
            ],
            swiftSettings: fuzzed
        ),
        .target(
            name: "WebSocketClient",
            dependencies: [
                "RealtimePrimitives", "RealtimeNetworking", nioCore, nioPosix, nioHTTP1, nioWebSocket,
                nioConcurrencyHelpers, logging, zlib,
            ],
            swiftSettings: fuzzed
        ),
        .target(
            name: "ServerSentEvents",
            dependencies: [
                "RealtimeJSON", "RealtimePrimitives", "RealtimeNetworking", "RealtimeHTTP", nioCore, nioPosix,
                nioConcurrencyHelpers,
                logging,
            ],
            swiftSettings: fuzzed
        ),
        // The HTTP server under the test servers and the console.
        .target(
            name: "RealtimeTestHTTP",
            dependencies: [
                "RealtimePrimitives", "RealtimeNetworking", nioCore, nioPosix, nioHTTP1, nioWebSocket,
                nioConcurrencyHelpers, nioSSL,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "EventSourceTestServer",
            dependencies: ["RealtimeNetworking", "RealtimeTestHTTP", nioCore, nioPosix, nioConcurrencyHelpers],
            swiftSettings: settings
        ),
        // For vector instructions, and for the memory that each thread keeps.
        .target(
            name: "CRealtimeJSON",
            cSettings: (usesPlainJSON ? [.define("REALTIME_JSON_PLAIN")] : [])
                + (isFuzzing ? [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])] : [])
        ),
        .target(name: "RealtimeJSON", dependencies: ["CRealtimeJSON"], swiftSettings: fuzzed),
        .target(name: "RealtimeMessagePack", swiftSettings: fuzzed),
        .target(
            name: "SignalRCore",
            dependencies: ["RealtimeJSON", "RealtimeMessagePack", "RealtimePrimitives"],
            swiftSettings: fuzzed
        ),
        .target(
            name: "SignalRClient",
            dependencies: [
                "SignalRCore", "RealtimeMessagePack", "RealtimeJSON", "RealtimePrimitives", "RealtimeNetworking",
                "RealtimeHTTP",
                "WebSocketClient", "ServerSentEvents", nioCore, nioPosix, nioConcurrencyHelpers, logging,
            ],
            swiftSettings: fuzzed
        ),
        .target(name: "PusherProtocol", dependencies: ["CRealtimeJSON", "RealtimeJSON"], swiftSettings: fuzzed),
        .target(
            name: "PusherEncryption",
            dependencies: [
                systemSodium, bundledSodium, "PusherProtocol", "RealtimeJSON", "RealtimePrimitives",
                nioConcurrencyHelpers,
            ],
            swiftSettings: fuzzed
        ),
        .target(
            name: "PusherCore",
            dependencies: ["PusherProtocol", "PusherEncryption", "RealtimeJSON", "RealtimePrimitives"],
            swiftSettings: fuzzed
        ),
        .target(
            name: "PusherClient",
            dependencies: [
                "PusherCore", "PusherProtocol", "PusherEncryption", "RealtimeJSON", "RealtimePrimitives",
                "RealtimeNetworking",
                "RealtimeHTTP", "WebSocketClient", atomics, nioCore, nioPosix, nioConcurrencyHelpers, logging,
                serviceLifecycle, metrics,
            ],
            swiftSettings: fuzzed
        ),
        .target(name: "PusherObservation", dependencies: ["PusherClient"], swiftSettings: settings),
        .target(
            name: "PusherServerAPI",
            dependencies: [
                "PusherProtocol", "PusherEncryption", "RealtimeJSON", "RealtimePrimitives", "RealtimeNetworking",
                "RealtimeHTTP", logging,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PusherTestServer",
            dependencies: [
                "PusherProtocol", "PusherEncryption", "RealtimeJSON", "RealtimePrimitives", "RealtimeNetworking",
                "RealtimeHTTP", "RealtimeTestHTTP", nioCore, nioPosix, nioHTTP1, nioConcurrencyHelpers, nioSSL,
            ],
            swiftSettings: settings
        ),
        // A product of its own, so that whoever only needs the server does not build the client.
        .target(
            name: "PusherVirtualTime",
            dependencies: [
                "PusherClient", "PusherCore", "PusherProtocol", "PusherTestServer", "RealtimeHTTP",
                "RealtimeNetworking", logging, nioCore, nioConcurrencyHelpers,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "SignalRTestServer",
            dependencies: [
                "SignalRClient", "SignalRCore", "RealtimeJSON", "RealtimeTestHTTP", "RealtimePrimitives", nioCore,
                nioPosix, nioConcurrencyHelpers,
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "pusher",
            dependencies: [
                "PusherClient", "PusherServerAPI", "PusherTestServer", "PusherProtocol", "PusherEncryption",
                "RealtimeHTTP", "RealtimeNetworking", "RealtimeTestHTTP", "RealtimeJSON", "RealtimePrimitives",
                argumentParser, logging, nioCore, nioPosix, nioHTTP1,
            ],
            swiftSettings: settings
        ),
        // The example, which the tests and clients of other makers use too.
        .executableTarget(
            name: "TestHub",
            dependencies: ["SignalRClient", "SignalRTestServer"],
            path: "Examples/Sources/TestHub",
            swiftSettings: settings
        ),
        .systemLibrary(name: "CMalloc", path: "Tests/Tools/CMalloc"),
        // Runs that take long; the tests have short ones of them, in a process of their own.
        .executableTarget(
            name: "soak",
            dependencies: [
                .target(name: "CMalloc", condition: .when(platforms: [.linux])), "ClientTestSupport", "PusherClient",
                "PusherCore", "PusherEncryption", "PusherServerAPI", "PusherTestServer", "ServerSentEvents",
                "EventSourceTestServer", "SignalRClient", "SignalRTestServer", "SocketTestSupport", "TestSupport",
                "WebSocketClient", argumentParser, logging, nioConcurrencyHelpers,
            ],
            path: "Tests/Tools/Soak",
            swiftSettings: settings
        ),
        .target(
            name: "TestSupport",
            dependencies: [logging, nioCore, nioConcurrencyHelpers],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        // What the worlds of virtual time have in common: those of the tests, of the simulation and of the fuzzer.
        .target(
            name: "ClientTestSupport",
            dependencies: ["PusherClient", "PusherCore", logging, nioCore, nioConcurrencyHelpers],
            path: "Tests/Tools/ClientTestSupport",
            swiftSettings: settings
        ),
        // A slow parser of event streams, and what both make of a stream: for the tests and the fuzzer. Streams in virtual
        // time.
        .target(
            name: "EventStreamTestSupport",
            dependencies: ["ServerSentEvents", "RealtimeHTTP", nioCore, nioEmbedded, nioConcurrencyHelpers],
            path: "Tests/EventStreamTestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "EnvelopeCorpus",
            dependencies: ["PusherProtocol", "TestSupport"],
            path: "Tests/Tools/EnvelopeCorpus",
            swiftSettings: settings
        ),
        // Types and documents for comparing the JSON decoder with Foundation's.
        .target(
            name: "JSONCorpus",
            dependencies: ["RealtimeJSON", "TestSupport"],
            path: "Tests/Tools/JSONCorpus",
            swiftSettings: settings
        ),
        // It needs little, so that it is quickly built with a sanitizer.
        .executableTarget(
            name: "decoder-check",
            dependencies: ["CRealtimeJSON", "EnvelopeCorpus", "JSONCorpus"],
            path: "Tests/Tools/DecoderCheck",
            swiftSettings: settings
        ),
        // The client and the server in a world of virtual time and random faults.
        .target(
            name: "Simulation",
            dependencies: [
                "ClientTestSupport", "PusherClient", "PusherCore", "PusherEncryption", "PusherProtocol",
                "PusherTestServer", "PusherVirtualTime", "RealtimeHTTP", "WebSocketClient", "TestSupport", logging,
                nioCore, nioConcurrencyHelpers,
            ],
            path: "Tests/Tools/Simulation",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "simulate",
            dependencies: ["Simulation", nioConcurrencyHelpers],
            path: "Tests/Tools/Simulate",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "fuzzer",
            dependencies: [
                "ClientTestSupport", "PusherProtocol", "PusherEncryption", "PusherClient", "PusherCore",
                "SignalRCore", "RealtimeMessagePack", "RealtimePrimitives", "RealtimeNetworking", "RealtimeHTTP",
                "WebSocketClient", "ServerSentEvents",
                "EventStreamTestSupport", "JSONCorpus", "RealtimeJSON", "TestSupport", nioCore, nioEmbedded,
                nioConcurrencyHelpers, logging,
            ],
            path: "Tests/Tools/Fuzzing",
            exclude: ["Corpus", "Dictionaries", "corpus.py", "fuzz.sh"],
            swiftSettings: fuzzed,
            linkerSettings: isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])] : []
        ),
        .target(
            name: "TestTLS",
            dependencies: [nioSSL],
            path: "Tests/TestTLS",
            exclude: ["make-certificates"],
            swiftSettings: settings
        ),
        .target(
            name: "SocketTestSupport",
            dependencies: [
                "RealtimeHTTP", "RealtimeNetworking", "RealtimePrimitives", "WebSocketClient", "TestSupport", nioCore,
                nioPosix, nioHTTP1, nioConcurrencyHelpers, nioSSL,
            ],
            path: "Tests/SocketTestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "ProxyTestSupport",
            dependencies: [
                "PusherTestServer", "RealtimeTestHTTP", "TestSupport", nioCore, nioPosix, nioHTTP1,
                nioConcurrencyHelpers,
            ],
            path: "Tests/ProxyTestSupport",
            swiftSettings: settings
        ),
        // Imports Testing, which the tools that use TestSupport cannot do.
        .target(name: "TestTraits", path: "Tests/TestTraits", swiftSettings: settings),
        .testTarget(
            name: "RealtimePrimitivesTests",
            dependencies: ["RealtimePrimitives", "PusherEncryption", "TestSupport", "TestTraits"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RealtimeJSONTests",
            dependencies: ["RealtimeJSON", "JSONCorpus", "TestSupport", "TestTraits"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RealtimeMessagePackTests",
            dependencies: ["RealtimeMessagePack", "TestSupport", "TestTraits"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RealtimeNetworkingTests",
            dependencies: [
                "RealtimePrimitives", "RealtimeNetworking", "SocketTestSupport", "TestSupport", "TestTLS", nioCore,
                nioPosix, nioEmbedded, nioConcurrencyHelpers, nioSSL, "TestTraits",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RealtimeHTTPTests",
            dependencies: [
                "RealtimePrimitives", "RealtimeNetworking", "RealtimeHTTP", "SocketTestSupport", "TestSupport",
                "TestTLS", nioCore, nioPosix, nioHTTP1, nioEmbedded, nioConcurrencyHelpers, nioSSL, "TestTraits",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WebSocketClientTests",
            dependencies: [
                "RealtimePrimitives", "RealtimeNetworking", "WebSocketClient", "SocketTestSupport", "TestSupport",
                "TestTLS", logging, nioCore, nioPosix, nioEmbedded, nioConcurrencyHelpers, nioSSL, "TestTraits",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ServerSentEventsTests",
            dependencies: [
                "RealtimePrimitives", "RealtimeNetworking", "RealtimeHTTP", "ServerSentEvents",
                "EventSourceTestServer", "EventStreamTestSupport", "PusherTestServer", "ProxyTestSupport",
                "SocketTestSupport", "TestSupport", "TestTLS", nioCore, nioEmbedded, nioConcurrencyHelpers,
                "TestTraits",
            ],
            exclude: ["Parsing/vectors.json"],
            swiftSettings: settings
        ),
        // The rules that hold for all clients that reconnect.
        .testTarget(
            name: "ClientContractTests",
            dependencies: [
                "RealtimePrimitives", "RealtimeNetworking", "RealtimeHTTP", "WebSocketClient", "ServerSentEvents",
                "EventStreamTestSupport", "SocketTestSupport", "TestSupport", "TestTLS", nioCore, nioPosix, nioEmbedded,
                nioConcurrencyHelpers, "TestTraits",
            ],
            swiftSettings: settings
        ),
        // A program as users of IKEventSource have it, with a compiler that is set as theirs is.
        .testTarget(
            name: "IKEventSourceProgramTests",
            dependencies: ["ServerSentEvents", "EventSourceTestServer", "TestTraits"],
            swiftSettings: [.swiftLanguageMode(.v5)] + warnings
        ),
        .testTarget(
            name: "ServerSentEventsProgramTests",
            dependencies: ["ServerSentEvents", "EventSourceTestServer", "TestTraits"],
            swiftSettings: warnings
        ),
        .testTarget(
            name: "SignalRCoreTests",
            dependencies: ["SignalRCore", "RealtimeMessagePack", "RealtimePrimitives", "TestSupport", "TestTraits"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SignalRClientTests",
            dependencies: [
                "SignalRClient", "SignalRCore", "SignalRTestServer", "TestHub", "WebSocketClient", "RealtimeNetworking",
                "RealtimeHTTP", "RealtimeTestHTTP", "SocketTestSupport", "TestSupport", "TestTLS", logging, nioCore,
                nioPosix, nioHTTP1,
                nioEmbedded, nioConcurrencyHelpers, "TestTraits",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PusherProtocolTests",
            dependencies: [
                "PusherProtocol", "PusherEncryption", "EnvelopeCorpus", "RealtimeJSON", "TestSupport", "TestTraits",
            ],
            swiftSettings: settings
        ),
        // Runs the fuzzer that was built beside it.
        .testTarget(name: "FuzzingTests", dependencies: ["TestSupport", "TestTraits"], swiftSettings: settings),
        .testTarget(
            name: "PusherEncryptionTests",
            dependencies: ["PusherEncryption", "PusherProtocol", "RealtimePrimitives", "TestSupport", "TestTraits"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PusherTestServerTests",
            dependencies: [
                "PusherTestServer", "PusherProtocol", "PusherEncryption", "RealtimeHTTP", "RealtimeJSON",
                "RealtimeNetworking", "RealtimeTestHTTP", "ProxyTestSupport", "SocketTestSupport", "TestSupport",
                "TestTLS", nioCore, nioPosix, nioEmbedded, nioHTTP1, nioSSL, "TestTraits",
            ],
            exclude: ["Transcripts"],
            swiftSettings: settings
        ),
        // Prints a value of every public type of every product.
        .testTarget(
            name: "PublicTypesTests",
            dependencies: [
                "PusherClient", "PusherObservation", "PusherServerAPI", "WebSocketClient", "ServerSentEvents",
                "SignalRClient", "PusherTestServer", "PusherVirtualTime", "SignalRTestServer", "EventSourceTestServer",
                "PusherProtocol",
                "RealtimeJSON", "RealtimeNetworking", "RealtimePrimitives", "RealtimeTestHTTP", "TestSupport", logging,
                nioCore, nioEmbedded, "TestTraits",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PusherConsoleTests",
            dependencies: [
                "pusher", "ClientTestSupport", "PusherClient", "PusherProtocol", "PusherTestServer", "WebSocketClient",
                "RealtimeTestHTTP", "SocketTestSupport", "RealtimeHTTP", "TestSupport", nioCore, nioHTTP1, nioEmbedded,
                "TestTraits",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PusherServerAPITests",
            dependencies: [
                "PusherServerAPI", "PusherTestServer", "PusherClient", "PusherEncryption", "ClientTestSupport",
                "RealtimeHTTP", "SocketTestSupport", "TestSupport", "TestTLS", logging, nioHTTP1, "TestTraits",
            ],
            swiftSettings: settings
        ),
        // Runs the tool that was built beside it.
        .testTarget(
            name: "PusherCommandTests",
            dependencies: [
                "PusherClient", "PusherServerAPI", "ClientTestSupport", "PusherTestServer", "PusherEncryption",
                "WebSocketClient", "SocketTestSupport", "TestSupport", "TestTLS", logging, nioHTTP1, "TestTraits",
            ],
            swiftSettings: settings
        ),
        // Programs as users of PusherSwift have them, with a compiler that is set as theirs is.
        .testTarget(
            name: "PusherSwiftProgramTests",
            dependencies: ["PusherClient", "PusherTestServer", "TestSupport", nioConcurrencyHelpers, "TestTraits"],
            swiftSettings: [.swiftLanguageMode(.v5)] + warnings
        ),
        .testTarget(
            name: "Swift6ProgramTests",
            dependencies: [
                "PusherClient", "ClientTestSupport", "WebSocketClient", "PusherTestServer", "ProxyTestSupport",
                "TestSupport", "TestTLS", logging, serviceLifecycle, metrics, "TestTraits",
            ],
            swiftSettings: warnings
        ),
        // Programs as users of Microsoft's client have them, in both modes of the language.
        .testTarget(
            name: "SignalRSwift5ProgramTests",
            dependencies: ["SignalRClient", "SignalRTestServer", "TestTraits"],
            swiftSettings: [.swiftLanguageMode(.v5)] + warnings
        ),
        .testTarget(
            name: "SignalRSwift6ProgramTests",
            dependencies: ["SignalRClient", "SignalRTestServer", "TestTraits"],
            swiftSettings: warnings
        ),
        .testTarget(
            name: "PusherCoreTests",
            dependencies: [
                "ClientTestSupport", "PusherCore", "PusherProtocol", "PusherEncryption", "RealtimePrimitives",
                "TestSupport", "TestTraits",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PusherObservationTests",
            dependencies: [
                "PusherObservation", "PusherClient", "PusherTestServer", "TestTraits", nioConcurrencyHelpers,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PusherVirtualTimeTests",
            dependencies: [
                "PusherVirtualTime", "PusherClient", "PusherObservation", "PusherTestServer", nioConcurrencyHelpers,
                "TestTraits",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PusherClientTests",
            dependencies: [
                "ClientTestSupport", "PusherClient", "PusherCore", "PusherProtocol", "RealtimePrimitives",
                "RealtimeNetworking", "RealtimeHTTP", "WebSocketClient", "SocketTestSupport", "ProxyTestSupport",
                "Simulation", "PusherTestServer", "PusherVirtualTime", "PusherEncryption", "TestSupport", "TestTLS",
                logging,
                serviceLifecycle, metrics, metricsTestKit, nioCore, nioPosix, nioHTTP1, nioEmbedded,
                nioConcurrencyHelpers, nioSSL, "TestTraits",
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)

// ThreadSanitizer needs a build of its own. Without the other tests and the tools, this build takes much less time.
if let tests = Context.environment["PUSHER_TESTS"]?.split(separator: " ").map(String.init) {
    package.targets.removeAll { target in
        switch target.type {
        case .test: !tests.contains(target.name)
        case .executable: target.path?.hasPrefix("Tests/Tools") == true
        default: false
        }
    }
}
