import Foundation

#if canImport(Glibc)
    import CMalloc
#endif

/// The resources of the process at one moment.
struct ProcessUsage: Sendable {
    /// Bytes that the process has allocated and not freed. Zero if the system does not report them.
    var heap = 0.0
    /// The bytes of physical memory that the process uses.
    var resident = 0.0
    /// Open file descriptors.
    var descriptors = 0.0
    var threads = 0.0

    static func now() -> ProcessUsage {
        var usage = ProcessUsage()
        #if canImport(Glibc)
            usage.heap = Double(mallinfo2().uordblks)
        #endif
        // One of the descriptors belongs to this listing.
        let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")
        usage.descriptors = Double(max((descriptors?.count ?? 1) - 1, 0))
        for line in ((try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? "").split(separator: "\n") {
            let fields = line.split(whereSeparator: \.isWhitespace)
            guard fields.count > 1, let value = Double(fields[1]) else { continue }
            if fields[0] == "VmRSS:" { usage.resident = value * 1_024 }
            if fields[0] == "Threads:" { usage.threads = value }
        }
        return usage
    }
}

/// The straight line that is nearest to the points (least squares).
struct Slope: Sendable {
    /// The growth for each step.
    var perStep: Double

    init(_ points: [(step: Double, value: Double)]) {
        let count = Double(max(points.count, 1))
        let meanStep = points.reduce(0) { $0 + $1.step } / count
        let meanValue = points.reduce(0) { $0 + $1.value } / count
        let spread = points.reduce(0) { $0 + ($1.step - meanStep) * ($1.step - meanStep) }
        let common = points.reduce(0) { $0 + ($1.step - meanStep) * ($1.value - meanValue) }
        perStep = spread > 0 ? common / spread : 0
    }
}
