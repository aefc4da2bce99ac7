import Dispatch
import PusherClient
import TestSupport
import TestTraits
import Testing

@Suite("Authorizers that the app writes", .limited)
struct AuthorizerTests {
    let context = FakeRequester().context()

    /// An authorizer that runs a closure with the completion handler.
    struct Completing: Authorizer {
        let body: @Sendable (String, String, @escaping @Sendable (PusherAuth?) -> Void) -> Void

        func fetchAuthValue(
            socketID: String,
            channelName: String,
            completionHandler: @escaping @Sendable (PusherAuth?) -> Void
        ) {
            body(socketID, channelName, completionHandler)
        }
    }

    static func completing(
        _ body: @escaping @Sendable (String, String, @escaping @Sendable (PusherAuth?) -> Void) -> Void
    ) -> AuthMethod {
        .authorizer(authorizer: Completing(body: body))
    }

    @Test("the client accepts the authorizer's answer from any thread, immediately or later")
    func answer() async {
        let atOnce = Self.completing {
            $2(PusherAuth(auth: "\($0) \($1)", channelData: "data", sharedSecret: "secret"))
        }
        #expect(
            await atOnce.authorize(in: context).value
                == Authorization(auth: "1.1 private-a", data: "data", sharedSecret: "secret")
        )
        let later = Self.completing { _, _, done in
            DispatchQueue.global().async { done(PusherAuth(auth: "later")) }
        }
        #expect(await later.authorize(in: context).value?.auth == "later")
    }

    @Test("an answer of nil is an error that names the channel")
    func nothing() async {
        let error = await Self.completing { $2(nil) }.authorize(in: context).error
        #expect(error?.code == .authorizerFailed)
        #expect(error?.recovery == .retry(after: .zero))
        #expect(error?.message.contains("channel 'private-a' failed: the authorizer gave nil") == true)
    }

    @Test("the client uses the first completion and ignores later ones", arguments: 0..<20)
    func twice(_: Int) async {
        let method = Self.completing { _, _, done in
            done(PusherAuth(auth: "first"))
            done(nil)
            DispatchQueue.concurrentPerform(iterations: 8) { done(PusherAuth(auth: "\($0)")) }
        }
        #expect(await method.authorize(in: context).value?.auth == "first")
    }

    @Test("completions from many threads at once produce one answer", arguments: 0..<20)
    func atOnce(_: Int) async {
        let method = Self.completing { _, _, done in
            DispatchQueue.concurrentPerform(iterations: 8) { done(PusherAuth(auth: "\($0)")) }
        }
        #expect(await method.authorize(in: context).value != nil)
    }

    @Test("a call that waits for its completion ends when its task is cancelled, and ignores a late completion")
    func never() async {
        let (handlers, handler) = AsyncStream.makeStream(of: (@Sendable (PusherAuth?) -> Void).self)
        let method = Self.completing { _, _, done in handler.yield(done) }
        let task = Task { await method.authorize(in: context) }
        var iterator = handlers.makeAsyncIterator()
        let done = await iterator.next()
        task.cancel()
        let error = await task.value.error
        #expect(error?.cause is CancellationError)
        #expect(error?.recovery == AuthorizationError.Recovery.none)
        done?(PusherAuth(auth: "late"))
        done?(nil)
    }

    @Test("the client releases the authorizer and the late answer of a cancelled call")
    func leak() async {
        final class Witness: Sendable {}
        weak var authorizer: Witness?
        weak var answer: PusherAuth?
        do {
            let witness = Witness()
            let auth = PusherAuth(auth: "late")
            authorizer = witness
            answer = auth
            let (handlers, handler) = AsyncStream.makeStream(of: (@Sendable (PusherAuth?) -> Void).self)
            let method = Self.completing { [witness] _, _, done in
                withExtendedLifetime(witness) { _ = handler.yield(done) }
            }
            let task = Task { await method.authorize(in: context) }
            var iterator = handlers.makeAsyncIterator()
            let done = await iterator.next()
            task.cancel()
            _ = await task.value
            done?(auth)
        }
        // The block on the dispatch queue may still hold the authorizer for a moment.
        await waitUntil { authorizer == nil && answer == nil }
    }

    @Test("an authorizer that blocks its thread does not delay other authorizers")
    func blocking() async {
        let semaphore = DispatchSemaphore(value: 0)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let method = Self.completing { _, _, done in
            start.yield()
            semaphore.wait()
            done(nil)
        }
        let tasks = (0..<16).map { _ in Task { await method.authorize(in: context) } }
        for await _ in started { break }
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value.error?.cause is CancellationError) }
        for _ in tasks { semaphore.signal() }
    }

    @Test("a task that is cancelled before it calls the authorizer gets a cancellation error")
    func cancelledBefore() async {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Self.completing { _, _, _ in }.authorize(in: context)
        }
        #expect(await task.value.error?.cause is CancellationError)
    }

    @Test("an authorizer closure returns its answer or throws its error to the client")
    func closure() async {
        struct Failure: Error, CustomStringConvertible { var description: String { "geheim" } }
        let answering = AuthMethod.authorizer { PusherAuth(auth: "\($0.socketID) \($0.channelName)") }
        #expect(await answering.authorize(in: context).value?.auth == "1.1 private-a")
        let error = await AuthMethod.authorizer { _ in throw Failure() }.authorize(in: context).error
        #expect(error?.code == .authorizerFailed)
        #expect(error?.cause is Failure)
        #expect(error?.message.contains("geheim") == false)
        let own = AuthorizationError(.refused, "no", httpStatus: 403, recovery: .askOnceMore)
        #expect(await AuthMethod.authorizer { _ in throw own }.authorize(in: context).error == own)
    }

    @Test("cancelling a call cancels the closure's task without waiting for it")
    func cancelledClosure() async {
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let (noticed, notice) = AsyncStream.makeStream(of: Void.self)
        let method = AuthMethod.authorizer { _ in
            await withTaskCancellationHandler {
                start.yield()
                await Task { for await _ in gate {} }.value
            } onCancel: {
                notice.finish()
            }
            return PusherAuth(auth: "late")
        }
        let task = Task { await method.authorize(in: context) }
        for await _ in started { break }
        task.cancel()
        #expect(await task.value.error?.cause is CancellationError)
        for await _ in noticed {}
        opening.finish()
    }

    @Test("the package's own authorizers complete with nil if the app calls them")
    func ownAuthorizers() {
        for method in [
            AuthMethod.endpoint("https://example.com"), .inline(secret: "s", encryptionMasterKey: ""),
            .authorizer { _ in PusherAuth(auth: "k:a") }, .batchAuthorizer { _ in [:] },
        ] {
            guard case .authorizer(let authorizer) = method else { continue }
            let answers = Log<Bool>()
            authorizer.fetchAuthValue(socketID: "1.1", channelName: "private-a") { answers.append($0 == nil) }
            #expect(answers.elements == [true])
        }
    }
}
