import ServerSentEvents

/// A parser that follows the algorithm of the standard step by step. It first decodes the whole stream.
package enum PlainParser {
    package static func run(_ bytes: [UInt8]) -> ParserRun {
        var scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        var run = ParserRun()
        var (type, data, id) = ("", "", "")
        for line in lines(of: scalars) {
            if line.isEmpty {
                run.lastEventID = id
                if !data.isEmpty {
                    data.unicodeScalars.removeLast()
                    let name = type.isEmpty ? "message" : type
                    run.elements.append(.event(ServerSentEvent(event: name, data: data, id: id)))
                }
                (type, data) = ("", "")
                continue
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if line.first == ":" {
                run.elements.append(.comment(text(parts[1])))
                continue
            }
            var value = parts.count > 1 ? parts[1] : []
            if value.first == " " { value = value.dropFirst() }
            switch text(parts[0]) {
            case "event": type = text(value)
            case "data": data += text(value) + "\n"
            case "id": if !value.contains("\0") { id = text(value) }
            case "retry":
                if !value.isEmpty, value.allSatisfy({ ("0"..."9").contains($0) }) {
                    run.reconnectionTime = Int64(text(value)) ?? .max
                }
            default: break
            }
        }
        return run
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        scalars.reduce(into: "") { $0.unicodeScalars.append($1) }
    }

    /// Returns the complete lines.
    private static func lines(of scalars: [Unicode.Scalar]) -> [[Unicode.Scalar]] {
        var lines: [[Unicode.Scalar]] = []
        var line: [Unicode.Scalar] = []
        var last: Unicode.Scalar?
        for scalar in scalars {
            switch scalar {
            case "\n" where last == "\r": break
            case "\n", "\r":
                lines.append(line)
                line = []
            default: line.append(scalar)
            }
            last = scalar
        }
        return lines
    }
}
