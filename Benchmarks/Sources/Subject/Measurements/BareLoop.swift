import CReference
import Foundation
import Workload

/// A loop in C over a blocking socket. The loop shows the maximum speed of the machine, so that readers can compare
/// figures of different machines.
struct BareLoop {
    let arguments: Arguments
    let workload: Workload

    func run() throws -> [String: Double] {
        let descriptor = try connectSocket()
        defer { close(descriptor) }
        try send(
            """
            GET \(workload.path)/app/app-key HTTP/1.1\r\nHost: \(arguments.target.host)\r\nUpgrade: websocket\r\n\
            Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n
            """.utf8,
            to: descriptor
        )
        var input = Input(descriptor: descriptor)
        try input.skipUpgrade()
        try subscribe(workload.channelName(0), on: descriptor)
        // The greeting and the answer.
        while input.counts.frames < 2 { try input.read() }
        return try measure(&input)
    }

    private func measure(_ input: inout Input) throws -> [String: Double] {
        let total = UInt64(workload.events) + 2
        let warmUp = UInt64(workload.events / 10) + 2
        let window = UInt64(workload.window / 2)
        var nextGoAhead = window + 2
        var start: (usage: ProcessUsage, frames: UInt64)?
        while input.counts.frames < total {
            try input.read()
            if start == nil, input.counts.frames >= warmUp { start = (.now, input.counts.frames) }
            while input.counts.frames >= nextGoAhead {
                try subscribe(Workload.goAheadName(Int(nextGoAhead / window)), on: input.descriptor)
                nextGoAhead += window
            }
        }
        guard let start else { throw SubjectError("there were too few events") }
        let usage = ProcessUsage.now - start.usage
        let events = Double(input.counts.frames - start.frames)
        return ["cpu": usage.cpu / events, "wall": usage.wall / events, "events": events]
    }

    // MARK: The socket

    private func connectSocket() throws -> Int32 {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(arguments.target.port).bigEndian
        address.sin_addr.s_addr = inet_addr(arguments.target.host)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw SubjectError("the generator does not answer") }
        return descriptor
    }

    private func subscribe(_ channel: String, on descriptor: Int32) throws {
        let text = Array(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#.utf8)
        // A mask of zeros is valid too.
        try send([0x81, 0x80 | UInt8(text.count), 0, 0, 0, 0] + text, to: descriptor)
    }

    private func send(_ bytes: some Sequence<UInt8>, to descriptor: Int32) throws {
        let bytes = Array(bytes)
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw SubjectError("cannot write") }
    }
}

/// The received bytes that were not read yet.
private struct Input {
    let descriptor: Int32
    var counts = reference_counts()
    private var bytes = [UInt8](repeating: 0, count: 256 * 1_024)
    private var scratch = [UInt8](repeating: 0, count: 256 * 1_024)
    private var count = 0

    init(descriptor: Int32) { self.descriptor = descriptor }

    mutating func skipUpgrade() throws {
        while true {
            try receive()
            guard let end = bytes[..<count].firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { continue }
            return remove(end)
        }
    }

    /// Counts the whole frames of the received bytes. If there are none, waits for more bytes.
    mutating func read() throws {
        let taken = reference_read_frames(bytes, count, &scratch, &counts)
        if taken > 0 { remove(taken) } else { try receive() }
    }

    private mutating func receive() throws {
        let room = bytes.count - count
        let received = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + count, room, 0) }
        guard received > 0 else { throw SubjectError("the generator has closed the socket") }
        count += received
    }

    private mutating func remove(_ taken: Int) {
        bytes.withUnsafeMutableBytes { bytes in
            _ = memmove(bytes.baseAddress!, bytes.baseAddress! + taken, count - taken)
        }
        count -= taken
    }
}
