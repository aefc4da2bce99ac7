import NIOCore
import NIOEmbedded
import SignalRCore
import TestTraits
import Testing

@testable import SignalRClient

/// Tests of calls that arrive before their handler, in virtual time.
@Suite(.limited) struct HeldCallsTests {
    private let loop = NIOAsyncTestingEventLoop()
    private let server = BareOpener()
    private let warnings = Inbox<String>()

    /// Returns a connection that is connected.
    private func connected() async throws -> HubConnection {
        let options = HubEngine.Options(
            machine: HubStateMachine.Configuration(.json),
            coder: HubCoder(),
            retryPolicy: nil,
            wantsResumption: false,
            invocationTimeout: nil,
            receiveBufferSize: 1 << 20,
            logger: HubLogger(handler: WarningHandler(inbox: warnings)),
            logsContent: false
        )
        let engine = HubEngine(options, opener: server, on: loop) { [loop] in
            .nanoseconds(Int64(loop.now.uptimeNanoseconds))
        }
        let connection = HubConnection(engine)
        async let started: Void = connection.start()
        while connection.status.isStarting {
            try Task.checkCancellation()
            await loop.run()
            await Task.yield()
        }
        try await started
        return connection
    }

    /// Lets the server make calls. Returns after the client has looked for their handlers.
    private func call(_ method: String, _ numbers: ClosedRange<Int>, _ connection: HubConnection) async throws {
        let passed = Inbox<Int>()
        await connection.on("passed") { (number: Int) in passed.add(number) }
        for number in numbers { server.call(method, number) }
        server.call("passed", 0)
        await loop.run()
        _ = try await passed.next()
        await connection.off(method: "passed")
    }

    @Test func aHandlerGetsTheCallsThatArrivedBeforeItInOrder() async throws {
        let connection = try await connected()
        try await call("late", 1...100, connection)
        let inbox = Inbox<Int>()
        await connection.on("LATE") { (number: Int) in inbox.add(number) }
        for number in 101...120 { server.call("late", number) }
        await loop.run()
        #expect(await inbox.next(120) == Array(1...120))
    }

    @Test func aSequenceGetsTheCallsThatArrivedBeforeIt() async throws {
        let connection = try await connected()
        try await call("late", 1...3, connection)
        var numbers = connection.messages(of: "late", as: Int.self).makeAsyncIterator()
        for number in 1...3 { #expect(await numbers.next() == number) }
        // The calls do not go to another handler again.
        let inbox = Inbox<Int>()
        await connection.on("late") { (number: Int) in inbox.add(number) }
        server.call("late", 4)
        await loop.run()
        #expect(try await inbox.next() == 4)
    }

    @Test func concurrentHandlersGetTheCallsThatArrivedBeforeThem() async throws {
        let connection = try await connected()
        try await call("late", 1...3, connection)
        let inbox = Inbox<Int>()
        await connection.onConcurrent("late") { (number: Int) in inbox.add(number) }
        #expect(await inbox.next(3).sorted() == [1, 2, 3])
    }

    @Test func theNewestCallsWithoutAHandlerWait() async throws {
        let connection = try await connected()
        try await call("late", 1...300, connection)
        let inbox = Inbox<Int>()
        await connection.on("late") { (number: Int) in inbox.add(number) }
        #expect(await inbox.next(256) == Array(45...300))
        let warning = try await warnings.next()
        #expect(warning.hasPrefix("Calls dropped: 44. They arrived before their method had a handler."))
    }

    @Test func droppedCallsWithLongNamesTakeNoMemory() {
        var held = HeldInvocations()
        func add(_ method: String, size: Int) {
            held.add(HubInvocation(target: method), key: MethodName(method), size: size)
        }
        for number in 1...10 { add(String(repeating: "x", count: 201) + "\(number)", size: 256) }
        for _ in 1...300 { add("short", size: 256) }
        #expect(held.counts == ["short": 300] && held.droppedElsewhere == 10)
        #expect(held.take("short").droppedCount == 44)
        #expect(held.counts.isEmpty)
        // The number of names has a limit too.
        for number in 1...600 { add("\(number)", size: 256) }
        #expect(held.counts.count == 512 && held.droppedElsewhere == 10 + 88)
    }

    @Test func methodsWhoseNamesDifferInBytesAreTwo() {
        let handlers = HandlerRegistry()
        let composed = "Caf\u{E9}"
        let decomposed = "Cafe\u{301}"
        #expect(composed == decomposed)
        _ = handlers.add(composed, isConcurrent: false) { _ in nil }
        #expect(handlers.lookUp(decomposed).handlers.isEmpty)
        #expect(handlers.lookUp("CAF\u{C9}").handlers.count == 1)
        handlers.remove(decomposed)
        #expect(handlers.lookUp(composed).handlers.count == 1)
    }

    @Test func theLogShowsTheStartOfALongMethodName() async throws {
        let connection = try await connected()
        await loop.advanceTime(by: .seconds(5))
        try await call(String(repeating: "x", count: 5_000), 1...1, connection)
        #expect(try await warnings.next() == "No handler for the method '\(String(repeating: "x", count: 1_000))'")
    }

    @Test func callsWithoutAHandlerWaitFor5SecondsAfterTheConnection() async throws {
        let connection = try await connected()
        let handlers = connection.engine.handlers
        func isHeld(_ method: String, id: String? = nil) -> Bool {
            handlers.lookUp(method, holding: HubInvocation(id: id, target: method, arguments: []), size: 256).isHeld
        }
        #expect(isHeld("a") && isHeld("A"))
        // The server waits for the result of this call.
        #expect(!isHeld("a", id: "1"))
        await loop.advanceTime(by: .milliseconds(4_999))
        #expect(handlers.isHolding)
        await loop.advanceTime(by: .milliseconds(1))
        #expect(!handlers.isHolding && !isHeld("a"))
    }
}

private struct WarningHandler: SignalRClient.LogHandler {
    let inbox: Inbox<String>

    func log(logLevel: LogLevel, message: LogMessage, file: String, function: String, line: UInt) {
        inbox.add("\(message)")
    }
}

extension HubConnectionStatus {
    fileprivate var isStarting: Bool { if case .connected = self { false } else { true } }
}
