/// One measurement of one implementation, made in a process of its own.
struct Run: Hashable, Sendable, Encodable {
    /// What is measured: the subject's first argument.
    let measurement: String
    /// The client in one of its styles, or a reference.
    let via: String
    var settings: [String: Int]
    /// The kind of the channels, where it is not public.
    var kind: String?
    /// Whether the subject counts what it allocates. Linux only.
    var countsAllocations = false

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

    /// Of an event, a channel or whatever else there are many of; in microseconds.
    var cpu: Measured { value("cpu") }
    /// In microseconds.
    var wall: Measured { value("wall") }
    /// How often memory is allocated, and how many bytes, in a run of its own that counts.
    var allocations: Measured { counting.value("allocations") }
    var allocated: Measured { counting.value("allocated") }

    private var counting: Run {
        var run = self
        run.countsAllocations = true
        return run
    }
}

/// One of the numbers that a run gives.
struct Measured: Hashable, Sendable {
    let run: Run
    let key: String
    /// The run whose number is taken away from it.
    var base: Run?

    func without(_ base: Run) -> Measured { Measured(run: run, key: key, base: base) }

    var runs: [Run] { [run] + (base.map { [$0] } ?? []) }
}

/// Runs that are compared with each other, and so are made by turns.
struct Suite: Sendable {
    let name: String
    let rounds: Int
    let rows: [Row]
    /// Besides those that the rows name.
    var more: [Run] = []

    /// Each once, in the order in which they are named.
    var runs: [Run] {
        let named = rows.flatMap { row in row.value.runs + row.reference.runs } + more
        var seen: Set<Run> = []
        return named.filter { seen.insert($0).inserted }
    }
}

/// A line of the table: something measured, what it is compared with, and what the comparison should give.
struct Row: Sendable {
    enum Reference: Sendable {
        /// Measured in the same rounds.
        case measured(Measured)
        /// Known from another machine, where something else that is measured in the same rounds took a known time too.
        case known(Double, where: Measured, took: Double)
        /// Nothing: the value stands for itself.
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

/// How a number is written.
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

    /// The number as targets name it.
    func scaled(_ value: Double) -> Double {
        switch self {
        case .microseconds, .plain: value
        case .milliseconds, .kilobytes: value / 1_000
        }
    }
}
