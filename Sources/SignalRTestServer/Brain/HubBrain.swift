import NIOConcurrencyHelpers
import NIOCore
import SignalRClient
import SignalRCore

/// Makes the server's decisions for every transport. Call the methods of the brain on the event loop.
final class HubBrain {
    /// A method that the app has registered.
    typealias Method = @Sendable (TestHubCall, [EncodedValue]) async throws -> HubOutcome

    let shared: SharedRecords
    var options: TestHubOptions
    private var registrations: [String: (method: Method, onRemoval: @Sendable () -> Void)] = [:]
    var connections: [String: ServerConnection] = [:]
    var faults: [(step: TestHubStep, fault: TestHubFault, skip: Int, count: Int)] = []
    var handshake = TestHubHandshake.normal
    /// The number of redirects in a negotiation. Each redirect contains the token `redirectToken`, unless it is `nil`.
    var redirects = 0
    var redirectToken: String?
    /// The size of the pieces in which the server sends bytes; `nil` for whole messages.
    var pieceSize: Int?
    /// Whether the server sends nothing, and ignores everything that arrives.
    var isSilent = false
    private var serial = 0
    /// The way back to the brain for timers, for closures that run at the end of a link, and for the tasks that run hub
    /// methods.
    let entrance: HubEntrance
    /// The accepted TCP connections.
    private var channels: [ObjectIdentifier: any Channel] = [:]

    var eventLoop: any EventLoop { entrance.eventLoop }

    init(_ options: TestHubOptions, shared: SharedRecords, entrance: HubEntrance) {
        self.options = options
        self.shared = shared
        self.entrance = entrance
    }

    // MARK: Connections

    /// Records an accepted TCP connection, so that ``shutDown()`` closes it.
    func accepted(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels[id] = channel
        channel.closeFuture.whenComplete { [entrance] _ in entrance.enter { $0.channels[id] = nil } }
    }

    func shutDown() {
        for connection in Array(connections.values) {
            connection.link?.drop()
            end(connection)
        }
        for channel in channels.values { channel.close(promise: nil) }
        for registration in registrations.values { registration.onRemoval() }
        entrance.close()
    }

    /// - Parameter hasToken: Whether requests name the connection by a secret token, instead of its id.
    func makeConnection(headers: [String: String], hasToken: Bool = true) -> ServerConnection {
        serial += 1
        let id = "id-\(serial)"
        let connection = ServerConnection(id: id, token: hasToken ? "token/\(serial)+" : id, headers: headers)
        connections[connection.token] = connection
        authenticate(connection)
        return connection
    }

    /// Begins the lifetime of a connection's authentication.
    func authenticate(_ connection: ServerConnection) {
        connection.authentication?.cancel()
        guard let lifetime = options.tokenLifetime else { return }
        let token = connection.token
        let time = TimeAmount(Duration(clampingSeconds: lifetime))
        connection.authentication = eventLoop.scheduleTask(in: time) { [entrance] in
            entrance.enter { brain in if let connection = brain.connections[token] { brain.expire(connection) } }
        }
    }

    /// Ends a connection whose authentication has expired.
    func expire(_ connection: ServerConnection) {
        guard connection.link == nil else { return close(connection, error: nil, allowReconnect: true) }
        end(connection)
    }

    /// Sets the transport of a connection.
    func attach(_ link: any ServerLink, to connection: ServerConnection) {
        let former = connection.link
        connection.link = link
        // Otherwise, the timer of the last loss could end the connection during the next loss.
        connection.expiry?.cancel()
        connection.expiry = nil
        former?.drop()
        guard connection.resumption != nil else {
            let early = connection.early
            (connection.early, connection.earlySize) = ([], 0)
            for bytes in early { write(bytes, to: connection) }
            return
        }
        connection.hasMissedMessages = false
        connection.reader = HubFrameReader(limit: 64 << 20)
        if let coder = connection.coder { connection.reader.begin(coder.hubProtocol) }
        connection.resumption?.link = .synchronizing(since: .zero, tries: 0)
        guard let resumption = connection.resumption else { return }
        transmit(.sequence(resumption.firstToSend), to: connection)
        for sent in resumption.unacknowledged { write(sent.bytes, to: connection) }
    }

    /// Handles the end of a transport.
    func detach(_ link: any ServerLink, from connection: ServerConnection) {
        guard connection.link === link else { return }
        connection.link = nil
        guard connection.resumption != nil, !connection.isEnded else { return end(connection) }
        connection.resumption?.link = .down(since: .zero, tries: 0)
        let token = connection.token
        let timeout = TimeAmount(Duration(clampingSeconds: options.disconnectTimeout))
        connection.expiry = eventLoop.scheduleTask(in: timeout) { [entrance] in
            entrance.enter { brain in
                guard let connection = brain.connections[token], connection.link == nil else { return }
                brain.end(connection)
            }
        }
    }

    /// Removes a connection.
    func end(_ connection: ServerConnection) {
        connection.isEnded = true
        connection.expiry?.cancel()
        connection.expiry = nil
        connection.authentication?.cancel()
        connection.authentication = nil
        if connections[connection.token] === connection { connections[connection.token] = nil }
        for task in connection.running.values { task.cancel() }
        for upload in connection.uploads.values { upload.finish(throwing: CancellationError()) }
        let calls = connection.clientCalls
        connection.running = [:]
        connection.uploads = [:]
        connection.clientCalls = [:]
        for continuation in calls.values { continuation.resume(throwing: CancellationError()) }
        shared.ended(connection.id)
    }

    /// Ends a connection, and drops its transport.
    private func drop(_ connection: ServerConnection) {
        let link = connection.link
        connection.link = nil
        end(connection)
        link?.drop()
    }

    /// Sends a Close message, and closes the transport.
    func close(_ connection: ServerConnection, error: String?, allowReconnect: Bool) {
        connection.isEnded = true
        transmit(.close(error: error, allowReconnect: allowReconnect), to: connection)
        connection.link?.close()
    }

    func keepAlive() {
        for connection in connections.values where connection.isHandshakeDone { transmit(.ping, to: connection) }
    }

    // MARK: Sending

    func transmit(_ message: HubMessage, to connection: ServerConnection) {
        guard let coder = connection.coder else { return }
        let bytes = coder.hubProtocol.encode(message)
        if message.isTracked, let size = connection.resumption?.bufferedBytes {
            guard size <= options.maximumQueueSize else { return drop(connection) }
            connection.resumption?.sent(bytes)
            if case .down = connection.resumption?.link { return }
        }
        write(bytes, to: connection)
    }

    func write(_ bytes: [UInt8], to connection: ServerConnection) {
        if isSilent { return }
        guard let link = connection.link else {
            // A client may send its handshake before its first poll, so the server keeps the answer.
            guard connection.resumption == nil, connections[connection.token] === connection else { return }
            guard connection.earlySize <= options.maximumQueueSize else { return end(connection) }
            connection.early.append(bytes)
            connection.earlySize += bytes.count
            return
        }
        let isBinary = connection.coder?.hubProtocol.isBinary ?? false
        guard let pieceSize else { return link.write(bytes, isBinary: isBinary) }
        for start in stride(from: 0, to: bytes.count, by: max(pieceSize, 1)) {
            let piece = bytes[start..<min(start + max(pieceSize, 1), bytes.count)]
            link.write(Array(piece), isBinary: isBinary)
        }
    }

    // MARK: Receiving

    func received(_ bytes: [UInt8], from connection: ServerConnection) {
        // After an ignored message, the server's count of messages would be wrong. So the server ignores all messages
        // until the client sends them again over the next transport.
        if isSilent, connection.resumption != nil { connection.hasMissedMessages = true }
        if isSilent || connection.isEnded || connection.hasMissedMessages { return }
        connection.reader.append(bytes)
        do {
            while !connection.isEnded, let frame = try connection.reader.next() {
                if connection.isHandshakeDone {
                    guard let message = try connection.coder?.hubProtocol.decode(frame) else { continue }
                    handle(message, from: connection)
                } else {
                    shake(frame, connection)
                }
            }
        } catch {
            close(connection, error: "\(error)", allowReconnect: false)
        }
    }

    private func shake(_ frame: ArraySlice<UInt8>, _ connection: ServerConnection) {
        let request = Handshake.request(frame)
        switch request?.protocolName {
        case "json": connection.coder = HubCoder()
        case "messagepack": connection.coder = HubCoder(messagePack: .asIs)
        default: break
        }
        var error: String?
        if connection.coder == nil { error = "The protocol '\(request?.protocolName ?? "")' is not supported." }
        // As in ASP.NET Core, an older version is also supported.
        if let version = request?.version, version > 2 { error = "Version \(version) is not supported." }
        switch handshake {
        case .normal: break
        case .silence: return
        case .refuse(let reason): error = reason
        case .bytes(let bytes): return write(bytes, to: connection)
        }
        write(Handshake.response(error: error), to: connection)
        if error != nil {
            connection.isEnded = true
            connection.link?.close()
            return
        }
        connection.isHandshakeDone = true
        if let coder = connection.coder { connection.reader.begin(coder.hubProtocol) }
        if request?.version == 2, options.allowsStatefulReconnect { connection.resumption = Resumption(limit: .max) }
        shared.connected(connection.id)
    }

    private func handle(_ message: HubMessage, from connection: ServerConnection) {
        shared.received(message)
        if connection.resumption != nil {
            if case .sequence(let number) = message {
                guard connection.resumption?.synchronize(number) == true else {
                    connection.link?.drop()
                    return end(connection)
                }
                connection.resumption?.link = .up
                return
            }
            if case .synchronizing = connection.resumption?.link { return }
            if message.isTracked, let (isNew, _) = connection.resumption?.received(size: 0) {
                acknowledgeSoon(connection)
                if !isNew { return }
            }
        }
        switch message {
        case .invocation(let invocation): invoke(invocation, isStream: false, from: connection)
        case .streamInvocation(let invocation): invoke(invocation, isStream: true, from: connection)
        case .streamItem(let id, let item, _): _ = connection.uploads[id]?.yield(item)
        case .completion(let id, let outcome, _):
            if let upload = connection.uploads.removeValue(forKey: id) {
                if case .error(let text) = outcome { upload.finish(throwing: HubError(text)) } else { upload.finish() }
            } else {
                connection.clientCalls.removeValue(forKey: id)?.resume(returning: outcome)
            }
        case .cancelInvocation(let id, _): connection.running.removeValue(forKey: id)?.cancel()
        case .ack(let number): connection.resumption?.acknowledged(number)
        case .close: connection.isEnded = true
        case .ping, .sequence: break
        }
    }

    private func acknowledgeSoon(_ connection: ServerConnection) {
        guard let latest = connection.resumption?.latest else { return }
        let token = connection.token
        eventLoop.scheduleTask(in: .milliseconds(200)) { [entrance] in
            entrance.enter { brain in
                guard let connection = brain.connections[token], connection.resumption?.link == .up else { return }
                brain.transmit(.ack(latest), to: connection)
            }
        }
    }

    // MARK: Methods

    /// - Parameter onRemoval: A closure that runs when another method has this name, and at the shutdown.
    func register(_ name: String, _ method: @escaping Method, onRemoval: @escaping @Sendable () -> Void) {
        let former = registrations.updateValue((method, onRemoval), forKey: name.lowercased())
        former?.onRemoval()
    }

    private func invoke(_ invocation: HubInvocation, isStream: Bool, from connection: ServerConnection) {
        let uploads = invocation.streamIDs.map { id in
            let (stream, continuation) = AsyncThrowingStream.makeStream(of: EncodedValue.self)
            connection.uploads[id] = continuation
            return stream
        }
        let name = invocation.target.lowercased()
        let method = registrations[name]?.method
        if method == nil, answerAtOnce(invocation, isStream: isStream, from: connection) { return }
        guard let coder = connection.coder else { return }
        let call = TestHubCall(connection, invocation.id, uploads, coder, entrance)
        if let method, !isStream {
            // As in ASP.NET Core by default, methods run in the order of the calls.
            _ = connection.queue.add { [entrance, shared] in
                let outcome = await Self.outcome(of: method, call, invocation, shared)
                guard let id = invocation.id else { return }
                entrance.enter { $0.transmit(.completion(id: id, outcome), toToken: call.token) }
            }
            return
        }
        guard let run = method ?? BuiltInMethods.task(name, isStream: isStream) else {
            return fail(invocation, "Unknown hub method '\(invocation.target)'", connection)
        }
        let task = start(run, call, invocation)
        if let id = invocation.id { connection.running[id] = task }
    }

    private func start(_ method: @escaping Method, _ call: TestHubCall, _ invocation: HubInvocation) -> Task<
        Void, Never
    > {
        // The task calls `run`, because Swift 6.3 rejects a task that passes closures to `Self.run` directly.
        let run: SerialQueue.Job = { [entrance, shared] in
            await Self.run(method, call, invocation, entrance, shared)
        }
        return Task { await run() }
    }

    private static func run(
        _ method: @escaping Method,
        _ call: TestHubCall,
        _ invocation: HubInvocation,
        _ entrance: HubEntrance,
        _ shared: SharedRecords
    ) async {
        let outcome = await outcome(of: method, call, invocation, shared)
        guard let id = invocation.id else { return }
        entrance.enter { brain in
            guard brain.connections[call.token]?.running.removeValue(forKey: id) != nil else { return }
            brain.transmit(.completion(id: id, outcome), toToken: call.token)
        }
    }

    func transmit(_ message: HubMessage, toToken token: String) {
        if let connection = connections[token] { transmit(message, to: connection) }
    }

    func complete(_ invocation: HubInvocation, _ outcome: HubOutcome, _ connection: ServerConnection) {
        if let id = invocation.id { transmit(.completion(id: id, outcome), to: connection) }
    }

    /// Completes a call that failed.
    ///
    /// - Parameter reason: The reason for the records, if the caller does not get it.
    func fail(
        _ invocation: HubInvocation,
        _ text: String,
        because reason: String? = nil,
        _ connection: ServerConnection
    ) {
        shared.failed(
            TestHubFailure(connectionID: connection.id, method: invocation.target, reason: reason ?? text)
        )
        complete(invocation, .error(text), connection)
    }

    private static func outcome(
        of method: Method,
        _ call: TestHubCall,
        _ invocation: HubInvocation,
        _ shared: SharedRecords
    ) async -> HubOutcome {
        let outcome: HubOutcome
        let reason: String?
        do {
            outcome = try await method(call, invocation.arguments)
            if case .error(let text) = outcome { reason = text } else { reason = nil }
        } catch {
            let sentence = "An unexpected error occurred invoking the method on the server."
            outcome = .error((error as? HubError).map { "\(sentence) HubException: \($0.message)" } ?? sentence)
            reason = text(of: error)
        }
        if let reason {
            shared.failed(
                TestHubFailure(connectionID: call.connectionID, method: invocation.target, reason: reason)
            )
        }
        return outcome
    }

    /// Returns the description of an error, with its cause.
    static func text(of error: any Error) -> String {
        guard let cause = (error as? SignalRClientError)?.cause else { return "\(error)" }
        return "\(error) \(cause)"
    }
}
