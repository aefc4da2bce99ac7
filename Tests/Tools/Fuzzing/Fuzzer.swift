import Foundation

/// Runs a target with inputs. The inputs are the given files, or in a libFuzzer build the inputs that libFuzzer makes.
///
/// ```
/// fuzzer TARGET FILE...                        an ordinary build; a file named .base64 has an input on each line
/// FUZZ_TARGET=TARGET fuzzer [FLAGS] FOLDER...  a build by `make fuzz`; the flags are libFuzzer's
/// ```
/// A failed check ends the process.
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
            var count = 0
            for file in arguments.dropFirst() {
                for (name, bytes) in inputs(in: file) {
                    note("\(target.rawValue): \(name)")
                    target.run(bytes)
                    count += 1
                }
            }
            print("\(target.rawValue): \(count) inputs")
        #endif
    }

    private static func usage(_ name: String) -> Never {
        fail("Invalid target \"\(name)\": use \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")).")
    }

    private static func fail(_ message: String) -> Never {
        note(message)
        exit(2)
    }

    /// Prints a line to standard error. The program prints the name of each input before the target runs. If an input
    /// ends the process, the last line names this input.
    private static func note(_ message: String) { FileHandle.standardError.write(Data("\(message)\n".utf8)) }

    private static func inputs(in file: String) -> [(name: String, bytes: [UInt8])] {
        guard let contents = FileManager.default.contents(atPath: file) else { fail("Cannot read \(file).") }
        guard file.hasSuffix(".base64") else { return [(file, Array(contents))] }
        return contents.split(separator: UInt8(ascii: "\n")).enumerated().map { index, line in
            guard let bytes = Data(base64Encoded: line) else { fail("\(file):\(index + 1) is not base64") }
            return ("\(file):\(index + 1)", Array(bytes))
        }
    }
}
