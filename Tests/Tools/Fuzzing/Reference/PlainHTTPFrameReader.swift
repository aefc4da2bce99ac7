import PusherCore
import PusherProtocol

/// A simple reader for responses of an HTTP transport. The reader gets the whole response at once.
struct PlainHTTPFrameReader {
    enum Frame: Equatable {
        case open(hostname: String?)
        case message(String)
        case heartbeat(wantsAnswer: Bool)
        case close(code: Int, reason: String)
    }

    struct Result: Equatable {
        var frames: [Frame] = []
        var violation: HTTPFrameViolation?
        var isAtFrameEnd = true
    }

    let maximumMessageSize: Int
    let maximumLineSize: Int
    private var result = Result()

    static func read(_ response: [UInt8], maximumMessageSize: Int, joinedSize: Int) -> Result {
        var reader = Self(
            maximumMessageSize: maximumMessageSize,
            maximumLineSize: maximumMessageSize * 2 + joinedSize
        )
        do throws(HTTPFrameViolation) {
            try reader.read(response)
        } catch {
            reader.result.violation = error
        }
        return reader.result
    }

    private mutating func read(_ response: [UInt8]) throws(HTTPFrameViolation) {
        let lines = response.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
        for (index, line) in lines.enumerated() {
            guard line.count <= maximumLineSize else { throw .tooLong(limit: maximumLineSize) }
            guard index < lines.count - 1 else {
                result.isAtFrameEnd = line.isEmpty
                return
            }
            guard let kind = line.first else { continue }
            guard String(validating: line, as: UTF8.self) != nil else { throw .invalidText }
            var rest = PlainHTTPFrame(bytes: Array(line.dropFirst()))
            switch kind {
            case UInt8(ascii: "o"): result.frames.append(.open(hostname: try hostname(rest.bytes)))
            case UInt8(ascii: "a"): try readMessages(&rest)
            case UInt8(ascii: "m"):
                try readMessage(&rest, "m")
                guard rest.isAtEnd else { throw .malformed("m") }
            case UInt8(ascii: "h"): result.frames.append(.heartbeat(wantsAnswer: true))
            case UInt8(ascii: "c"): try readClose(&rest)
            default: break
            }
        }
    }

    private mutating func readMessages(_ rest: inout PlainHTTPFrame) throws(HTTPFrameViolation) {
        guard rest.skip("[") else { throw .malformed("a") }
        if rest.skip("]") {
            guard rest.isAtEnd else { throw .malformed("a") }
            return result.frames.append(.heartbeat(wantsAnswer: false))
        }
        repeat { try readMessage(&rest, "a") } while rest.skip(",")
        guard rest.skip("]"), rest.isAtEnd else { throw .malformed("a") }
    }

    private mutating func readMessage(
        _ rest: inout PlainHTTPFrame,
        _ kind: Character
    ) throws(HTTPFrameViolation) {
        guard let text = rest.string() else { throw .malformed(kind) }
        guard text.utf8.count <= maximumMessageSize else { throw .tooLong(limit: maximumMessageSize) }
        result.frames.append(.message(text))
    }

    private func hostname(_ rest: [UInt8]) throws(HTTPFrameViolation) -> String? {
        guard !PlainHTTPFrame(bytes: rest).isAtEnd else { return nil }
        guard rest.count < 4_096, let members = JSONValue(parsing: rest.text)?.object else { throw .malformed("o") }
        switch members["hostname"] {
        case nil, .null?: return nil
        case .string(let name)?: return name
        default: throw .malformed("o")
        }
    }

    private mutating func readClose(_ rest: inout PlainHTTPFrame) throws(HTTPFrameViolation) {
        guard rest.skip("["), let code = rest.number(), (1_000...4_999).contains(code) else { throw .malformed("c") }
        if rest.skip("]") { return result.frames.append(.close(code: code, reason: "")) }
        guard rest.skip(",") else { throw .malformed("c") }
        var reason = rest.string() ?? ""
        while reason.utf8.count > 123 { reason.unicodeScalars.removeLast() }
        result.frames.append(.close(code: code, reason: reason))
    }
}

/// A simple parser for the part of a frame after its first character.
struct PlainHTTPFrame {
    var bytes: [UInt8]

    private var withoutSpace: ArraySlice<UInt8> { bytes.drop { [0x20, 0x09, 0x0D].contains($0) } }

    var isAtEnd: Bool { withoutSpace.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard withoutSpace.first == UInt8(ascii: character) else { return false }
        bytes = Array(withoutSpace.dropFirst())
        return true
    }

    mutating func number() -> Int? {
        let digits = withoutSpace.prefix { (0x30...0x39).contains($0) }
        defer { bytes = Array(withoutSpace.dropFirst(digits.count)) }
        return Int(Array(digits).text)
    }

    /// Returns the value of the JSON string at this position, or nil if there is no string here.
    mutating func string() -> String? {
        let rest = Array(withoutSpace)
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        var end = 1
        while end < rest.count, rest[end] != UInt8(ascii: "\"") { end += rest[end] == UInt8(ascii: "\\") ? 2 : 1 }
        guard end < rest.count, case .value(let value) = PlainJSON.parse(Array(rest[...end])) else { return nil }
        bytes = Array(rest[(end + 1)...])
        return value.string
    }
}
