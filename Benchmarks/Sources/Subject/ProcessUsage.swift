import Foundation
import Workload

/// The process's usage so far.
struct ProcessUsage: Sendable {
    /// User and system time, in microseconds.
    let cpu: Double
    /// The time since a fixed point, in microseconds.
    let wall: Double
    /// The number of allocations and their bytes; nil if they are not counted.
    let allocations: (count: Double, bytes: Double)?

    static var now: ProcessUsage {
        var usage = rusage()
        #if canImport(Darwin)
            getrusage(RUSAGE_SELF, &usage)
        #else
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #endif
        return ProcessUsage(
            cpu: usage.ru_utime.microseconds + usage.ru_stime.microseconds,
            wall: Double(MonotonicTime.nanoseconds) / 1_000,
            allocations: AllocationCounter.totals
        )
    }

    static func - (left: ProcessUsage, right: ProcessUsage) -> ProcessUsage {
        let (before, after) = (right.allocations ?? (0, 0), left.allocations)
        return ProcessUsage(
            cpu: left.cpu - right.cpu,
            wall: left.wall - right.wall,
            allocations: after.map { ($0.count - before.count, $0.bytes - before.bytes) }
        )
    }

    /// The values for one of the given number of events or calls, by name.
    func values(per count: Double) -> [String: Double] {
        var values = ["cpu": cpu / count, "wall": wall / count]
        if let allocations {
            values["allocations"] = allocations.count / count
            values["allocated"] = allocations.bytes / count
        }
        return values
    }
}

/// The library that counts allocations, if it was loaded before the C library.
private enum AllocationCounter {
    private typealias Function = @convention(c) (UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<UInt64>) -> Void

    private static let function = dlsym(dlopen(nil, RTLD_NOW), "allocation_count").map {
        unsafeBitCast($0, to: Function.self)
    }

    static var totals: (count: Double, bytes: Double)? {
        guard let function else { return nil }
        var (count, bytes) = (UInt64(0), UInt64(0))
        function(&count, &bytes)
        return (Double(count), Double(bytes))
    }
}

extension timeval {
    fileprivate var microseconds: Double { Double(tv_sec) * 1e6 + Double(tv_usec) }
}

/// The memory of the process, as the kernel counts it. Linux only.
enum ProcessMemory {
    /// Returns the resident memory, and the part that belongs to the process alone, in bytes.
    static func read() throws -> (resident: Double, own: Double) {
        let text = try String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8)
        func bytes(_ name: String) -> Double {
            let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return (line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) * 1_024
        }
        return (bytes("Rss"), bytes("Private_Dirty"))
    }

    /// Returns the number of voluntary context switches of all threads. After each of them, the thread had to be woken.
    static func wakeUps() -> Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.reduce(0) { sum, task in
            let status = (try? String(contentsOfFile: "/proc/self/task/\(task)/status", encoding: .utf8)) ?? ""
            let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
            return sum + (line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
        }
    }
}
