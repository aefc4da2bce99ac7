/// One measurement of one implementation, made in a separate process.
struct Run: Hashable, Sendable, Encodable {
    /// The measurement: the subject's first argument.
    let measurement: String
    /// The client in one of its styles, or a reference.
    let via: String
    var settings: [String: Int]
    /// The kind of the channels, if it is not public.
    var kind: String?
    /// Whether the subject counts its allocations. Linux only.
    var countsAllocations = false

    /// The value of ``via`` for pusher-js in node.
    static let pusherJS = "pusher-js"
    /// The value of ``via`` for Microsoft's JavaScript client of SignalR in node.
    static let signalRJS = "signalr-js"

    init(_ measurement: String, via: String, kind: String? = nil, _ settings: [String: Int] = [:]) {
        self.measurement = measurement
        self.via = via
        self.kind = kind
        self.settings = settings
    }

    var arguments: [String] {
        let numbers = settings.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return [measurement, "via=\(via)"] + numbers + (kind.map { ["kind=\($0)"] } ?? [])
    }

    func value(_ key: String) -> Measured { Measured(run: self, key: key) }

    /// The CPU time for each event, channel or other unit, in microseconds.
    var cpu: Measured { value("cpu") }
    /// The wall time for each unit, in microseconds.
    var wall: Measured { value("wall") }
    /// The number of allocations and their bytes, in a separate run that counts.
    var allocations: Measured { counting.value("allocations") }
    var allocated: Measured { counting.value("allocated") }

    private var counting: Run {
        var run = self
        run.countsAllocations = true
        return run
    }
}

/// One of the numbers of a run.
struct Measured: Hashable, Sendable {
    let run: Run
    let key: String
    /// The runs whose numbers are subtracted from this number.
    var bases: [Run] = []

    func without(_ bases: Run...) -> Measured { Measured(run: run, key: key, bases: bases) }

    var runs: [Run] { [run] + bases }
}

/// Runs that are compared with each other, and are made in turns.
struct Suite: Sendable {
    let name: String
    let rounds: Int
    let rows: [Row]
    /// Runs in addition to the runs that the rows name.
    var more: [Run] = []

    /// Each run once, in the order of the rows.
    var runs: [Run] {
        let named = rows.flatMap { row in row.value.runs + row.reference.runs } + more
        var seen: Set<Run> = []
        return named.filter { seen.insert($0).inserted }
    }
}

/// A row of the table: a measurement, its reference, and its targets.
struct Row: Sendable {
    enum Reference: Sendable {
        /// A value from the same rounds.
        case measured(Measured)
        /// A value from another machine, a measurement of the same rounds, and the time of this measurement on the
        /// other machine.
        case known(Double, where: Measured, took: Double)
        /// No reference. The report shows the value instead of a ratio.
        case none

        var runs: [Run] {
            switch self {
            case .measured(let measured), .known(_, where: let measured, took: _): measured.runs
            case .none: []
            }
        }
    }

    let title: String
    let value: Measured
    let reference: Reference
    let unit: Unit
    let must: Double?
    let stretch: Double?

    init(
        _ title: String,
        _ value: Measured,
        against reference: Reference = .none,
        unit: Unit = .microseconds,
        must: Double? = nil,
        stretch: Double? = nil
    ) {
        self.title = title
        self.value = value
        self.reference = reference
        self.unit = unit
        self.must = must
        self.stretch = stretch
    }
}

/// The unit of a number.
enum Unit: String, Sendable, Encodable {
    case microseconds
    case milliseconds
    case kilobytes
    case plain

    func text(_ value: Double) -> String {
        switch self {
        case .microseconds: "\(value.short) µs"
        case .milliseconds: "\((value / 1_000).short) ms"
        case .kilobytes: "\((value / 1_000).short) kB"
        case .plain: value.short
        }
    }

    /// The number in the unit of the targets.
    func scaled(_ value: Double) -> Double {
        switch self {
        case .microseconds, .plain: value
        case .milliseconds, .kilobytes: value / 1_000
        }
    }
}
