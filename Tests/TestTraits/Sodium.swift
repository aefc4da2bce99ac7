package import Testing

extension Trait where Self == ConditionTrait {
    /// The test encrypts or decrypts, so it runs only in builds with libsodium.
    package static var needsSodium: Self { .enabled(if: hasSodium, "This build has no libsodium.") }

    /// The test is about builds without libsodium.
    package static var needsNoSodium: Self { .disabled(if: hasSodium, "This build has libsodium.") }
}

#if SystemSodium && (os(Linux) || os(macOS)) || BundledSodium && canImport(Darwin)
    private let hasSodium = true
#else
    private let hasSodium = false
#endif
