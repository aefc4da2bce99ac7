import Foundation

/// Gives a target inputs: those in files and folders, once each, or, where it was built for that, those that libFuzzer
/// makes.
///
/// ```
/// fuzzer TARGET FILE-OR-FOLDER...              an ordinary build
/// FUZZ_TARGET=TARGET fuzzer [FLAGS] FOLDER...  a build by `make fuzz`; the flags are libFuzzer's
/// ```
/// What is found ends the process.
@main
enum Fuzzer {
    static func main() {
        #if FUZZING
            let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
            guard FuzzTarget(rawValue: name) != nil else { usage(name) }
            exit(LibFuzzer.run())
        #else
            let arguments = CommandLine.arguments.dropFirst()
            guard let target = FuzzTarget(rawValue: arguments.first ?? "") else { usage(arguments.first ?? "") }
            let files = arguments.dropFirst().flatMap { Self.files($0) }
            for file in files {
                guard let bytes = FileManager.default.contents(atPath: file) else { fail("\(file) cannot be read") }
                note("\(target.rawValue): \(file)")
                target.run(Array(bytes))
            }
            print("\(target.rawValue): \(files.count) inputs")
        #endif
    }

    private static func usage(_ name: String) -> Never {
        fail("'\(name)' is no target; there are \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
    }

    private static func fail(_ message: String) -> Never {
        note(message)
        exit(2)
    }

    /// Before an input is tried, so that the last line names the one that ended the process.
    private static func note(_ message: String) { FileHandle.standardError.write(Data("\(message)\n".utf8)) }

    /// A file, or those in a folder.
    private static func files(_ path: String) -> [String] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            return [path]
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.sorted().map { "\(path)/\($0)" }
    }
}
