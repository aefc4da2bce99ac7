import NIOConcurrencyHelpers
import NIOCore
import SignalRClient
import SignalRCore

/// Makes the server's decisions for every transport. Call the methods of the brain on the event loop.
final class HubBrain {
    let shared: SharedRecords
    var options: TestHubOptions
    private var registrations: [MethodName: (method: HubMethod, onRemoval: @Sendable () -> Void)] = [:]
    var connectedHandlers: [@Sendable (TestHubConnection) async -> Void] = []
    var disconnectedHandlers: [@Sendable (TestHubConnection, String?) async -> Void] = []
    var refreshedHandlers: [@Sendable (TestHubConnection) async -> Void] = []
    var connections: [String: ServerConnection] = [:]
    /// The tokens of the members of each group.
    var groups: [String: Set<String>] = [:]
    var stepFaults: [(step: TestHubStep, fault: TestHubFault, skip: Int, count: Int)] = []
    /// The faults of all connections.
    var faults = ServerConnection.Faults()
    var handshake = TestHubHandshake.normal
    /// The number of redirects in a negotiation. Each redirect contains the token `redirectToken`, unless it is `nil`.
    var redirects = 0
    var redirectToken: String?
    private var serial = 0
    private var pings: RepeatedTask?
    /// The way back to the brain for timers, for closures that run at the end of a link, and for the tasks that run hub
    /// methods.
    let entrance: HubEntrance

    var eventLoop: any EventLoop { entrance.eventLoop }

    /// The time for which messages that the server sends together wait for each other.
    private static let joinDelay = TimeAmount.milliseconds(20)
    /// The time between two acknowledgements, as in ASP.NET Core.
    private static let acknowledgementInterval = TimeAmount.seconds(1)

    init(_ options: TestHubOptions, shared: SharedRecords, entrance: HubEntrance) {
        self.options = options
        self.shared = shared
        self.entrance = entrance
    }

    /// Starts the pings of all connections.
    func start() {
        let interval = max(TimeAmount(clamping: options.keepAliveInterval), .milliseconds(1))
        pings = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { [entrance] _ in
            entrance.enter { $0.keepAlive() }
        }
    }

    // MARK: Connections

    func shutDown() {
        pings?.cancel()
        for connection in Array(connections.values) {
            connection.link?.drop()
            end(connection)
        }
        for registration in registrations.values { registration.onRemoval() }
        entrance.close()
    }

    /// - Parameter hasToken: Whether requests name the connection by a secret token, instead of its id.
    func makeConnection(
        headers: [String: String],
        query: [String: String] = [:],
        mayResume: Bool = false,
        hasToken: Bool = true
    ) -> ServerConnection {
        serial += 1
        let id = "id-\(serial)"
        let connection = ServerConnection(
            id: id,
            token: hasToken ? "token/\(serial)+" : id,
            headers: headers,
            query: query,
            mayResume: mayResume,
            maximumMessageSize: options.maximumMessageSize
        )
        connections[connection.token] = connection
        authenticate(connection, lifetime: options.tokenLifetime)
        expectTransport(connection)
        return connection
    }

    /// Starts a timer, which replaces the one with the same purpose. Its closure runs unless the connection has ended. If
    /// the server is silent when the time is over, the closure runs at the end of the silence.
    private func startTimer(
        _ purpose: ServerConnection.TimerPurpose,
        in time: TimeAmount,
        _ connection: ServerConnection,
        _ body: @escaping @Sendable (HubBrain, ServerConnection) -> Void
    ) {
        connection.stopTimer(purpose)
        connection.timerCount += 1
        let (token, number) = (connection.token, connection.timerCount)
        let task = eventLoop.scheduleTask(in: time) { [entrance] in
            entrance.enter { brain in
                guard let connection = brain.connections[token], connection.timers[purpose]?.number == number else {
                    return
                }
                connection.timers[purpose]?.isDue = true
                brain.runDueTimers(connection)
            }
        }
        connection.timers[purpose] = .init(number: number, task: task, body: body)
    }

    func startTimer(
        _ purpose: ServerConnection.TimerPurpose,
        after time: Duration,
        _ connection: ServerConnection,
        _ body: @escaping @Sendable (HubBrain, ServerConnection) -> Void
    ) {
        startTimer(purpose, in: TimeAmount(clamping: time), connection, body)
    }

    private func runDueTimers(_ connection: ServerConnection) {
        if isSilent(connection) { return }
        for (purpose, timer) in connection.timers where timer.isDue {
            // The closure of another timer may have stopped this one.
            guard connection.timers[purpose]?.number == timer.number else { continue }
            connection.timers[purpose] = nil
            timer.body(self, connection)
        }
    }

    // MARK: Silence

    /// Returns whether the server neither sends anything to a client nor answers its requests. Everything that sends
    /// bytes asks this method, or runs for a timer or a message, which asks it before.
    func isSilent(_ connection: ServerConnection?) -> Bool { faults.isSilent || connection?.faults.isSilent == true }

    /// Sets whether the server is silent for one connection, or for all.
    func setSilent(_ isSilent: Bool, _ connection: ServerConnection? = nil) {
        guard let connection else {
            faults.isSilent = isSilent
            for connection in Array(connections.values) { runDueTimers(connection) }
            return
        }
        connection.faults.isSilent = isSilent
        runDueTimers(connection)
    }

    // MARK: The beginning and the end

    /// Begins the lifetime of a connection's authentication.
    func authenticate(_ connection: ServerConnection, lifetime: Duration?) {
        guard let lifetime else { return connection.stopTimer(.authentication) }
        startTimer(.authentication, after: lifetime, connection) { $0.expire($1) }
    }

    /// Ends a connection whose authentication has expired.
    func expire(_ connection: ServerConnection) {
        guard connection.link == nil else { return close(connection, error: nil, allowReconnect: true) }
        end(connection)
    }

    /// Ends the connection unless a transport comes in time.
    private func expectTransport(_ connection: ServerConnection) {
        startTimer(.transport, after: options.disconnectTimeout, connection) { brain, connection in
            if connection.link == nil { brain.end(connection) }
        }
    }

    /// Ends a connection whose client does not poll in time.
    func expectPoll(_ connection: ServerConnection) {
        connection.stopTimer(.poll)
        guard options.requires(.polls) else { return }
        startTimer(.transport, after: options.disconnectTimeout, connection) { $0.end($1) }
    }

    /// Limits the time of a poll without messages.
    func polled(_ connection: ServerConnection) {
        connection.stopTimer(.transport)
        startTimer(.poll, after: options.pollTimeout, connection) { _, connection in
            (connection.link as? PollLink)?.timedOut()
        }
    }

    /// Sets the transport of a connection.
    func attach(_ link: any ServerLink, to connection: ServerConnection) {
        let former = connection.link
        connection.link = link
        // Otherwise, the timer of the last loss could end the connection during the next loss.
        connection.stopTimer(.transport)
        former?.drop()
        expectMessage(connection)
        guard connection.resumption != nil else {
            let early = connection.early
            (connection.early, connection.earlySize) = ([], 0)
            for bytes in early { write(bytes, to: connection) }
            // The last of these messages may be a Close message.
            if connection.isEnded { link.close() }
            return
        }
        connection.hasMissedMessages = false
        connection.reader = HubFrameReader(limit: options.maximumMessageSize)
        if let coder = connection.coder { connection.reader.begin(coder.hubProtocol) }
        connection.resumption?.link = .synchronizing(since: .zero, tries: 0)
        guard let resumption = connection.resumption else { return }
        transmit(.sequence(resumption.firstToSend), to: connection)
        for sent in resumption.unacknowledged { write(sent.bytes, to: connection) }
    }

    /// Starts the timer of the handshake, or the one of the client's silence.
    private func expectMessage(_ connection: ServerConnection) {
        connection.lastReceived = .now()
        connection.stopTimer(.message)
        if !connection.isHandshakeDone {
            guard options.requires(.handshakes) else { return }
            startTimer(.message, after: options.handshakeTimeout, connection) { brain, connection in
                brain.refuseHandshake(connection, "Handshake was canceled.")
            }
        } else if options.requires(.pings), connection.link?.transport != .longPolling {
            expectPing(connection, within: TimeAmount(clamping: options.clientTimeout))
        }
    }

    private func expectPing(_ connection: ServerConnection, within time: TimeAmount) {
        startTimer(.message, in: time, connection) { brain, connection in
            guard connection.link != nil else { return }
            let limit = TimeAmount(clamping: brain.options.clientTimeout)
            let rest = connection.lastReceived + limit - .now()
            if rest > .zero { return brain.expectPing(connection, within: rest) }
            brain.close(connection, error: nil, allowReconnect: true)
        }
    }

    /// Handles the end of a transport.
    ///
    /// - Parameter isClean: Whether the client closed a WebSocket with code 1000, so that it does not come back.
    func detach(_ link: any ServerLink, from connection: ServerConnection, isClean: Bool = false) {
        guard connection.link === link else { return }
        connection.link = nil
        connection.stopTimer(.message)
        connection.stopTimer(.poll)
        guard connection.resumption != nil, !connection.isEnded, !isClean else { return end(connection) }
        connection.resumption?.link = .down(since: .zero, tries: 0)
        expectTransport(connection)
    }

    /// Removes a connection.
    func end(_ connection: ServerConnection) {
        guard connections[connection.token] === connection else { return }
        connections[connection.token] = nil
        connection.isEnded = true
        connection.stopTimers()
        for group in groups.keys { groups[group]?.remove(connection.token) }
        for call in connection.running.values { call.task.cancel() }
        for upload in connection.uploads.values { upload.finish(throwing: CancellationError()) }
        let calls = connection.clientCalls
        (connection.running, connection.uploads, connection.clientCalls) = ([:], [:], [:])
        connection.waiting.removeAll()
        connection.waitingSize = 0
        connection.beforeStart = ([], 0)
        for continuation in calls.values { continuation.resume(throwing: CancellationError()) }
        if connection.isHandshakeDone, let coder = connection.coder, !disconnectedHandlers.isEmpty {
            let (handlers, error) = (disconnectedHandlers, connection.error)
            let ended = TestHubConnection(connection, coder, entrance)
            runHandlers(of: connection) { for handler in handlers { await handler(ended, error) } }
        }
        shared.ended(connection.id)
    }

    /// Runs handlers of the test after the connection's earlier ones.
    func runHandlers(of connection: ServerConnection, _ body: @escaping @Sendable () async -> Void) {
        connection.handlers = Task { [earlier = connection.handlers] in
            await earlier?.value
            await body()
        }
    }

    /// Ends a connection, and drops its transport.
    private func drop(_ connection: ServerConnection) {
        let link = connection.link
        connection.link = nil
        end(connection)
        link?.drop()
    }

    /// Sends a Close message, and closes the transport. Does nothing after another Close message. A silent server closes
    /// the connection at the end of the silence.
    func close(_ connection: ServerConnection, error: String?, allowReconnect: Bool) {
        if connection.isEnded { return }
        if isSilent(connection) {
            return startTimer(.close, in: .zero, connection) { brain, connection in
                brain.close(connection, error: error, allowReconnect: allowReconnect)
            }
        }
        transmit(.close(error: error, allowReconnect: allowReconnect), to: connection)
        connection.isEnded = true
        connection.error = connection.error ?? error
        // Without a transport, the server keeps the message for the first poll.
        guard let link = connection.link else {
            if connection.resumption != nil { end(connection) }
            return
        }
        flushJoined(connection)
        link.close()
    }

    func keepAlive() {
        for connection in connections.values
        where connection.isHandshakeDone && connection.link?.transport != .longPolling {
            transmit(.ping, to: connection)
        }
    }

    // MARK: Sending

    func transmit(_ message: HubMessage, to connection: ServerConnection) {
        guard let coder = connection.coder, !connection.isEnded else { return }
        let bytes = coder.hubProtocol.encode(message)
        guard message.isTracked, let resumption = connection.resumption else { return write(bytes, to: connection) }
        if resumption.mustWait, options.requires(.acknowledgements) {
            connection.heldSize += bytes.count
            guard connection.heldSize <= options.maximumQueueSize,
                connection.resumption?.hold(bytes, nil) == true
            else { return drop(connection) }
            return
        }
        guard resumption.bufferedBytes <= options.maximumQueueSize else { return drop(connection) }
        transmitTracked(bytes, to: connection)
    }

    private func transmitTracked(_ bytes: [UInt8], to connection: ServerConnection) {
        connection.resumption?.sent(bytes)
        if case .down = connection.resumption?.link { return }
        write(bytes, to: connection)
    }

    func write(_ bytes: [UInt8], to connection: ServerConnection) {
        if isSilent(connection) { return }
        guard let link = connection.link else {
            // A client may send its handshake before its first poll, so the server keeps the answer.
            guard connection.resumption == nil, connections[connection.token] === connection else { return }
            guard connection.earlySize <= options.maximumQueueSize else { return end(connection) }
            connection.early.append(bytes)
            connection.earlySize += bytes.count
            return
        }
        guard let count = connection.faults.joinedMessages ?? faults.joinedMessages else {
            flushJoined(connection)
            return link.write(bytes, isBinary: isBinary(connection), pieceSize: pieceSize(connection))
        }
        connection.joined.append(bytes)
        if connection.joined.count >= count { return flushJoined(connection) }
        if connection.joined.count == 1 {
            startTimer(.join, in: Self.joinDelay, connection) { $0.flushJoined($1) }
        }
    }

    private func flushJoined(_ connection: ServerConnection) {
        let bytes = Array(connection.joined.joined())
        connection.joined = []
        connection.stopTimer(.join)
        if bytes.isEmpty { return }
        connection.link?.write(bytes, isBinary: isBinary(connection), pieceSize: pieceSize(connection))
    }

    private func isBinary(_ connection: ServerConnection) -> Bool { connection.coder?.hubProtocol.isBinary ?? false }

    private func pieceSize(_ connection: ServerConnection) -> Int? { connection.faults.pieceSize ?? faults.pieceSize }

    func send<each A: Encodable & Sendable>(
        to clients: TestHubClients,
        _ method: String,
        _ arguments: (repeat each A)
    ) {
        for connection in connections.values {
            guard let coder = connection.coder, connection.isHandshakeDone else { continue }
            let summary = ServerConnectionSummary(
                id: connection.id,
                userID: connection.userID,
                groups: Set(groups.filter { $0.value.contains(connection.token) }.keys)
            )
            guard clients.isIncluded(summary) else { continue }
            do {
                var encoded: [EncodedValue] = []
                for argument in repeat each arguments { encoded.append(try coder.encode(argument)) }
                transmit(.invocation(HubInvocation(target: method, arguments: encoded)), to: connection)
            } catch {
                shared.failed(
                    TestHubFailure(connectionID: connection.id, method: method, reason: Self.text(of: error))
                )
            }
        }
    }

    // MARK: Receiving

    func received(_ bytes: [UInt8], from connection: ServerConnection) {
        let isSilent = isSilent(connection)
        connection.lastReceived = .now()
        // After an ignored message, the server's count of messages would be wrong. So the server ignores all messages
        // until the client sends them again over the next transport.
        if isSilent, connection.resumption != nil { connection.hasMissedMessages = true }
        if isSilent || connection.isEnded || connection.hasMissedMessages { return }
        connection.reader.append(bytes)
        do {
            while !connection.isEnded, let frame = try connection.reader.next() {
                if connection.isHandshakeDone {
                    guard let hubProtocol = connection.coder?.hubProtocol else { continue }
                    if options.requires(.messagePackHeaders), hubProtocol.hasNilHeaders(frame) {
                        throw HubProtocolViolation("the headers of a message are nil")
                    }
                    guard let message = try hubProtocol.decode(frame) else { continue }
                    handle(message, size: frame.count, from: connection)
                } else {
                    shake(frame, connection)
                }
            }
        } catch let violation as HubProtocolViolation {
            violated(violation, connection)
        } catch {
            violated(HubProtocolViolation("\(error)"), connection)
        }
    }

    /// Closes a connection whose client has sent something that the server cannot read.
    private func violated(_ violation: HubProtocolViolation, _ connection: ServerConnection) {
        guard connection.isHandshakeDone else { return refuseHandshake(connection, "Handshake was canceled.") }
        var text = "Connection closed with an error."
        if options.sendsDetailedErrors {
            let reason =
                violation.exceededLimit.map {
                    "The maximum message size of \($0)B was exceeded. The message size can be configured in AddHubOptions."
                } ?? violation.description
            text += " InvalidDataException: \(reason)"
        }
        connection.error = violation.description
        close(connection, error: text, allowReconnect: true)
    }

    private func shake(_ frame: ArraySlice<UInt8>, _ connection: ServerConnection) {
        switch handshake {
        case .normal: break
        case .silence: return connection.stopTimer(.message)
        case .refuse(let reason): return refuseHandshake(connection, reason)
        case .bytes(let bytes):
            connection.stopTimer(.message)
            return write(bytes, to: connection)
        }
        guard let request = Handshake.request(frame) else {
            return refuseHandshake(connection, "An unexpected error occurred during connection handshake.")
        }
        switch request.protocolName {
        case "json": connection.coder = options.makeCoder(.json)
        case "messagepack"
        where connection.link?.transport == .serverSentEvents
            && options.requires(.noMessagePackOverEvents):
            return refuseHandshake(
                connection,
                "Cannot use the 'messagepack' protocol on the current transport. The transport does not support 'Binary' transfer format."
            )
        case "messagepack": connection.coder = options.makeCoder(.messagePack)
        default: return refuseHandshake(connection, "The protocol '\(request.protocolName)' is not supported.")
        }
        // As in ASP.NET Core, an older version is also supported.
        guard request.version <= 2, let coder = connection.coder else {
            connection.coder = nil
            let name = request.protocolName
            return refuseHandshake(
                connection,
                "The server does not support version \(request.version) of the '\(name)' protocol."
            )
        }
        connection.isHandshakeDone = true
        connection.reader.begin(coder.hubProtocol)
        // The other transports need nothing to resume, because a connection outlives each of their requests.
        if request.version == 2, connection.mayResume, connection.link?.transport == .webSockets {
            connection.resumption = Resumption(
                limit: options.requires(.acknowledgements) ? options.statefulBufferSize : .max
            )
        }
        expectMessage(connection)
        let connected = TestHubConnection(connection, coder, entrance)
        // A client that has its answer finds itself among the server's connections.
        shared.connected(connected)
        write(Handshake.response(error: nil), to: connection)
        guard !connectedHandlers.isEmpty else { return }
        connection.isStarting = true
        let (handlers, token) = (connectedHandlers, connection.token)
        runHandlers(of: connection) { [entrance] in
            for handler in handlers { await handler(connected) }
            entrance.enter { brain in
                guard let connection = brain.connections[token] else { return }
                connection.isStarting = false
                let messages = connection.beforeStart.messages
                connection.beforeStart = ([], 0)
                for message in messages where !connection.isEnded { brain.perform(message, from: connection) }
            }
        }
    }

    private func refuseHandshake(_ connection: ServerConnection, _ reason: String) {
        if connection.isEnded { return }
        write(Handshake.response(error: reason), to: connection)
        connection.isEnded = true
        flushJoined(connection)
        connection.link?.close()
    }

    private func handle(_ message: HubMessage, size: Int, from connection: ServerConnection) {
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
        guard connection.isStarting, belongsToCall(message, connection) else {
            return perform(message, from: connection)
        }
        connection.beforeStart.messages.append(message)
        connection.beforeStart.size += size
        if connection.beforeStart.size > options.maximumQueueSize { drop(connection) }
    }

    /// Returns whether a message is a part of a call of the client. Other messages need not wait for the handlers of the
    /// beginning, and these may wait for the result of a call of the server.
    private func belongsToCall(_ message: HubMessage, _ connection: ServerConnection) -> Bool {
        switch message {
        case .invocation, .streamInvocation, .streamItem, .cancelInvocation: true
        case .completion(let id, _, _): connection.clientCalls[id] == nil
        case .ping, .close, .ack, .sequence: false
        }
    }

    private func perform(_ message: HubMessage, from connection: ServerConnection) {
        switch message {
        case .invocation(let invocation): invoke(invocation, isStream: false, from: connection)
        case .streamInvocation(let invocation): invoke(invocation, isStream: true, from: connection)
        case .streamItem(let id, let item, _):
            guard let size = connection.uploads[id]?.add(item) else { return }
            if size > options.maximumQueueSize { drop(connection) }
        case .completion(let id, let outcome, _):
            if let upload = connection.uploads.removeValue(forKey: id) {
                if case .error(let text) = outcome { upload.finish(throwing: HubError(text)) } else { upload.finish() }
            } else {
                connection.clientCalls.removeValue(forKey: id)?.resume(returning: outcome)
            }
        case .cancelInvocation(let id, _):
            for call in connection.running.values where call.id == id { call.task.cancel() }
            for index in connection.waiting.indices where connection.waiting[index].id == id {
                connection.waiting[index].isCancelled = true
            }
        case .ack(let number): acknowledged(number, connection)
        case .close(let error, _):
            connection.error = error
            close(connection, error: nil, allowReconnect: false)
        case .ping, .sequence: break
        }
    }

    private func acknowledgeSoon(_ connection: ServerConnection) {
        guard connection.timers[.acknowledgement] == nil else { return }
        startTimer(.acknowledgement, in: Self.acknowledgementInterval, connection) { brain, connection in
            guard connection.resumption?.link == .up, let latest = connection.resumption?.latest else { return }
            brain.transmit(.ack(latest), to: connection)
        }
    }

    private func acknowledged(_ number: UInt64, _ connection: ServerConnection) {
        connection.resumption?.acknowledged(number)
        while let held = connection.resumption?.takeHeld() {
            connection.heldSize -= held.bytes.count
            transmitTracked(held.bytes, to: connection)
        }
    }

    // MARK: Methods

    /// - Parameter onRemoval: A closure that runs when another method has this name, and at the shutdown.
    func register(_ method: HubMethod, onRemoval: @escaping @Sendable () -> Void) {
        let former = registrations.updateValue((method, onRemoval), forKey: MethodName(method.name))
        former?.onRemoval()
    }

    private func invoke(_ invocation: HubInvocation, isStream: Bool, from connection: ServerConnection) {
        let name = MethodName(invocation.target)
        let registered = registrations[name]?.method
        guard let method = registered ?? BuiltInMethods.method(name.text) else {
            let sentence = "Failed to invoke '\(invocation.target)' due to an error on the server."
            return fail(invocation, "\(sentence) HubException: Method does not exist.", connection)
        }
        guard method.streams == isStream else {
            let (kind, call) = isStream ? ("non-streaming", "streaming") : ("streaming", "non-streaming")
            let text =
                "The client attempted to invoke the \(kind) '\(method.name)' method with a \(call) invocation."
            return fail(invocation, text, connection)
        }
        if let count = method.uploads, count != invocation.streamIDs.count, options.requires(.streamCounts) {
            let sentence = "An unexpected error occurred invoking '\(method.name)' on the server."
            let reason = "Client sent \(invocation.streamIDs.count) stream(s), Hub method expects \(count)."
            return fail(invocation, "\(sentence) HubException: \(reason)", connection)
        }
        let count = invocation.arguments.count
        if let arguments = method.arguments, !arguments.contains(count) {
            let expected = count < arguments.lowerBound ? arguments.lowerBound : arguments.upperBound
            let reason = HubMethod.wrongCount(count, expected: expected)
            let sentence = "Failed to invoke '\(method.name)' due to an error on the server."
            let detail = options.sendsDetailedErrors ? " InvalidDataException: \(reason)" : ""
            return fail(invocation, sentence + detail, because: reason, connection)
        }
        if registered == nil, answerAtOnce(invocation, from: connection) { return }
        guard let coder = connection.coder else { return }
        let uploads = invocation.streamIDs.map { id in
            let upload = UploadBuffer()
            connection.uploads[id] = upload
            return upload
        }
        let caller = TestHubConnection(connection, coder, entrance)
        let call = TestHubCall(caller, invocation.id, method: invocation.target, uploads)
        // As in ASP.NET Core, a call whose upload may last does not hold up the others.
        let isCounted = method.isOrdered && !method.streams && method.uploads == 0
        let start = { [unowned self, unowned connection] (isCancelled: Bool) in
            self.start(method, call, invocation, isCounted: isCounted, isCancelled: isCancelled, on: connection)
        }
        if isCounted {
            let size = invocation.arguments.reduce(0) { $0 + $1.count }
            connection.waiting.append((invocation.id, size, false, start))
            connection.waitingSize += size
            startWaiting(connection)
            if connection.waitingSize > options.maximumQueueSize { drop(connection) }
        } else {
            start(false)
        }
    }

    /// Starts calls that wait, as many as may run at the same time.
    private func startWaiting(_ connection: ServerConnection) {
        while connection.running.values.count(where: \.isCounted) < max(options.maximumParallelCalls, 1),
            let call = connection.waiting.popFirst()
        {
            connection.waitingSize -= call.size
            call.start(call.isCancelled)
        }
    }

    private func start(
        _ method: HubMethod,
        _ call: TestHubCall,
        _ invocation: HubInvocation,
        isCounted: Bool,
        isCancelled: Bool,
        on connection: ServerConnection
    ) {
        connection.callCount += 1
        let number = connection.callCount
        let (isDetailed, entrance) = (options.sendsDetailedErrors, entrance)
        let task = Task {
            let (outcome, reason) = await method.outcome(call, invocation.arguments, isDetailed)
            entrance.enter { $0.finished(number, invocation, outcome, reason, token: call.token) }
        }
        if isCancelled { task.cancel() }
        connection.running[number] = .init(id: invocation.id, task: task, isCounted: isCounted)
    }

    private func finished(
        _ number: UInt64,
        _ invocation: HubInvocation,
        _ outcome: HubOutcome,
        _ reason: String?,
        token: String
    ) {
        guard let connection = connections[token], connection.running.removeValue(forKey: number) != nil else { return }
        for id in invocation.streamIDs { connection.uploads.removeValue(forKey: id)?.finish() }
        if let reason {
            shared.failed(
                TestHubFailure(connectionID: connection.id, method: invocation.target, reason: reason)
            )
        }
        complete(invocation, outcome, connection)
        startWaiting(connection)
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

    /// Returns the description of an error, with its cause.
    static func text(of error: any Error) -> String {
        guard let cause = (error as? SignalRClientError)?.cause else { return "\(error)" }
        return "\(error) \(cause)"
    }
}
