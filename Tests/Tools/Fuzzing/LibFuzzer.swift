#if FUZZING
    import Foundation

    /// The driver that makes inputs: the C library libFuzzer, which is part of the compiler.
    enum LibFuzzer {
        /// Runs the driver with the arguments of the process.
        static func run() -> CInt {
            var count = CommandLine.argc
            var arguments = CommandLine.unsafeArgv
            return runDriver(&count, &arguments, testOneInput)
        }
    }

    private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    @_silgen_name("LLVMFuzzerRunDriver")
    private func runDriver(
        _ count: UnsafeMutablePointer<CInt>,
        _ arguments: UnsafeMutablePointer<Arguments>,
        _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
    ) -> CInt

    private let target = FuzzTarget(rawValue: ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? "")

    /// The function that libFuzzer calls for each input. The library's own `main` refers to this name, but is not used.
    @_cdecl("LLVMFuzzerTestOneInput")
    public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        target?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
        return 0
    }
#endif
