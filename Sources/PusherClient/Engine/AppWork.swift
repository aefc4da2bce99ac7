import NIOConcurrencyHelpers

/// The work of the app that clients have begun, in virtual time.
///
/// A client calls the app's callbacks, resumes its tasks, and asks its authorizers. In real time, all of that runs by
/// itself. In virtual time, one piece of work follows the other, so that the order is the same in every run. The time
/// moves only while all pieces are at rest.
///
/// A piece is at rest when it has finished, and while its task waits for something that happens in virtual time.
package final class AppWork: Sendable {
    /// A piece that a client has begun, or a task of the app.
    package enum ID: Hashable, Sendable {
        case piece(UInt64)
        /// The number identifies a task while it lives.
        case task(Int)
    }

    private struct Pending: Sendable {
        var id: ID
        /// The number of the wait that the work ends; nil for other work.
        var wait: UInt64?
        var name: String
        var begin: @Sendable () -> Void
    }

    private struct State: Sendable {
        /// The work that begins later, in this order.
        var pending: [Pending] = []
        /// The names of the pieces that are not at rest.
        var running: [ID: String] = [:]
        /// The pieces of ``makePiece(_:)`` that have not finished.
        var openPieces: Set<UInt64> = []
        /// The waits whose tasks have not gone on.
        var openWaits: Set<UInt64> = []
        /// The iterators with which a task has taken elements, while these iterators exist.
        var iterators: [ID: Set<UInt64>] = [:]
        var lastNumber: UInt64 = 0
        var changeCount = 0
        /// Whether work begins at once, because the virtual time has ended.
        var hasEnded = false

        mutating func makeNumber() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }

        /// Whether something will report the end of the work.
        func isOpen(_ id: ID) -> Bool {
            switch id {
            case .piece(let number): openPieces.contains(number)
            case .task: iterators[id] != nil
            }
        }

        mutating func rest(_ id: ID) {
            changeCount += 1
            running[id] = nil
        }

        mutating func run(_ id: ID, _ name: String) {
            changeCount += 1
            running[id] = name
        }

        mutating func takeNext() -> Pending? {
            guard !pending.isEmpty else { return nil }
            let next = pending.removeFirst()
            run(next.id, next.name)
            return next
        }
    }

    /// The piece that has created the current task, directly or through other tasks.
    @TaskLocal private static var current: UInt64?

    private let state = NIOLockedValueBox(State())
    private let onChange: @Sendable () -> Void

    /// - Parameter onChange: A closure that is called on any thread, also within calls of the client's code, when there is
    ///   work to begin, or when work has come to rest. It must not call the client.
    package init(onChange: @escaping @Sendable () -> Void) { self.onChange = onChange }

    // MARK: For the virtual time

    /// Whether all work is at rest, and none is to begin.
    package var isAtRest: Bool { state.withLockedValue { $0.pending.isEmpty && $0.running.isEmpty } }

    /// A number that rises with every change.
    package var changeCount: Int { state.withLockedValue { $0.changeCount } }

    /// The names of the pieces that are not at rest.
    package var runningNames: [String] { state.withLockedValue { $0.running.values.sorted() } }

    /// Whether work waits for its turn, because other work is not at rest.
    package var isBlocked: Bool { state.withLockedValue { !$0.pending.isEmpty && !$0.running.isEmpty } }

    /// Begins the next piece of work. Returns whether it did.
    ///
    /// - Parameter isForced: Whether the piece begins even if other work is not at rest.
    package func beginNext(isForced: Bool = false) -> Bool {
        let next = state.withLockedValue { state in state.running.isEmpty || isForced ? state.takeNext() : nil }
        next?.begin()
        return next != nil
    }

    /// Begins the work that waits. From now on, work begins at once.
    package func end() {
        state.withLockedValue { $0.hasEnded = true }
        while let next = state.withLockedValue({ $0.takeNext() }) { next.begin() }
    }

    // MARK: Callbacks

    /// Begins work that calls ``finish(_:)`` at its end.
    func begin(_ name: String, _ begin: @escaping @Sendable (ID) -> Void) {
        let id = state.withLockedValue { ID.piece($0.makeNumber()) }
        add(Pending(id: id, name: name) { begin(id) })
    }

    func finish(_ id: ID) {
        state.withLockedValue { $0.rest(id) }
        onChange()
    }

    private func add(_ pending: Pending) {
        let isNow = state.withLockedValue { state in
            // A cancelled task does not wait for its turn.
            if state.hasEnded || pending.wait.map({ !state.openWaits.contains($0) }) ?? false { return true }
            state.changeCount += 1
            state.pending.append(pending)
            return false
        }
        if isNow { pending.begin() } else { onChange() }
    }

    // MARK: Tasks of the client for the app

    /// A piece of work in a task. It begins when the earlier pieces are at rest.
    struct Piece: Sendable {
        fileprivate let number: UInt64
        fileprivate let work: AppWork
        fileprivate let turn = FirstAnswer<Void>()

        /// Waits until the piece may begin, and calls the body.
        func callAsFunction<Result>(_ body: () async -> Result) async -> Result {
            _ = await turn.value()
            return await AppWork.$current.withValue(number) { await body() }
        }

        func finish() {
            work.state.withLockedValue { _ = $0.openPieces.remove(number) }
            work.finish(.piece(number))
        }
    }

    /// Makes a piece of work. A task must call the piece, and finish it.
    func makePiece(_ name: String) -> Piece {
        let number = state.withLockedValue { state in
            let number = state.makeNumber()
            state.openPieces.insert(number)
            return number
        }
        let piece = Piece(number: number, work: self)
        add(
            Pending(id: .piece(number), name: name) {
                piece.turn.give(())
                // A cancelled piece may have finished before its turn.
                let isOpen = self.state.withLockedValue { $0.openPieces.contains(number) }
                if !isOpen { self.finish(.piece(number)) }
            }
        )
        return piece
    }

    // MARK: Tasks that wait

    /// A task's wait for something that happens in virtual time.
    package struct Wait: Sendable {
        fileprivate let number: UInt64
        fileprivate let id: ID
        /// The name of the task's work; nil if the task's work is unknown.
        fileprivate let name: String?
        fileprivate let work: AppWork

        /// Notes that the task waits. Call this method after the cause of the wait is registered.
        package func began() {
            guard name != nil else { return }
            work.finish(id)
        }

        /// Resumes the task when it is its turn.
        package func end(_ resume: @escaping @Sendable () -> Void) {
            work.add(Pending(id: id, wait: number, name: name ?? "a task whose wait is over", begin: resume))
        }

        /// Notes that the task goes on. Call this method in the task.
        package func ended() {
            work.state.withLockedValue { state in
                state.openWaits.remove(number)
                state.pending.removeAll { $0.wait == number }
                // The piece may have finished without a task that it has created.
                if let name, state.isOpen(id) { state.run(id, name) } else { state.rest(id) }
            }
            work.onChange()
        }
    }

    /// Makes the wait of the current task.
    package func makeWait() -> Wait {
        let task = Self.task
        return state.withLockedValue { state in
            var id = task
            if state.iterators[task] == nil, let piece = Self.current, state.openPieces.contains(piece) {
                id = .piece(piece)
            }
            let number = state.makeNumber()
            state.openWaits.insert(number)
            return Wait(number: number, id: id, name: state.running[id], work: self)
        }
    }

    fileprivate static var task: ID { .task(withUnsafeCurrentTask { $0?.hashValue ?? 0 }) }

    // MARK: Consumers of sequences

    /// The consumer of a sequence, from the creation of its iterator until the iterator's release.
    final class Consumer: Sendable {
        private let work: AppWork
        private let number: UInt64
        private let name: String

        fileprivate init(_ work: AppWork, _ number: UInt64, _ name: String) {
            self.work = work
            self.number = number
            self.name = name
        }

        deinit { work.consumerEnded(number) }

        /// Makes the visit of the current task, which asks for an element.
        func makeVisit() -> Visit { Visit(work: work, task: AppWork.task, number: number, name: name) }
    }

    /// A task's question for an element of a sequence.
    struct Visit: Sendable {
        fileprivate let work: AppWork
        fileprivate let task: ID
        fileprivate let number: UInt64
        fileprivate let name: String

        /// Notes that the task waits for an element.
        func waits() { work.finish(task) }

        /// Notes that the task has got an element, or the end of the sequence. It runs until it asks for another element,
        /// waits for something else in virtual time, or releases the iterator.
        func runs() {
            work.state.withLockedValue { state in
                state.iterators[task, default: []].insert(number)
                state.run(task, name)
            }
        }

        /// Resumes the task when it is its turn.
        func end(_ resume: @escaping @Sendable () -> Void) {
            work.add(
                Pending(id: task, name: name) {
                    runs()
                    resume()
                }
            )
        }
    }

    func makeConsumer(of element: Any.Type) -> Consumer {
        Consumer(self, state.withLockedValue { $0.makeNumber() }, "a loop over elements of the type \(element)")
    }

    private func consumerEnded(_ number: UInt64) {
        let hasEnded = state.withLockedValue { state in
            let ended = state.iterators.filter { $0.value.contains(number) }.map(\.key)
            for task in ended {
                state.iterators[task]?.remove(number)
                guard state.iterators[task]?.isEmpty == true else { continue }
                state.iterators[task] = nil
                state.rest(task)
            }
            return !ended.isEmpty
        }
        if hasEnded { onChange() }
    }
}
