import SignalRClient

// This program makes every call that the documentation of Microsoft's Swift client describes. It imports only
// SignalRClient, and compiles in Swift 5 mode and in Swift 6 mode.

struct CustomRetryPolicy: RetryPolicy {
    func nextRetryInterval(retryContext: RetryContext) -> TimeInterval? {
        if retryContext.elapsed < 60, retryContext.retryReason == nil || retryContext.retryCount < 10 {
            return 0.01 * pow(2, Double(retryContext.retryCount))
        }
        return nil
    }
}

struct CustomLogHandler: LogHandler {
    func log(logLevel: LogLevel, message: LogMessage, file: String, function: String, line: UInt) {
        if logLevel.rawValue >= LogLevel.error.rawValue { print("\(file):\(line) \(function) \(message)") }
    }
}

struct CannedHttpClient: HttpClient {
    func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse) {
        let body: StringOrData = request.method == .POST ? .string(#"{"error":"canned"}"#) : .data(Data())
        return (body, HttpResponse(statusCode: 200))
    }
}

struct Weather: Codable, Equatable {
    var place: String
    var degrees: [Double]
    var time: MsgpackTimestamp?
}

/// Makes builders with every documented call.
func documentedBuilders(url: String) -> [HubConnectionBuilder] {
    var options = HttpConnectionOptions()
    options.accessTokenFactory = { "token" }
    options.headers = ["X-App": "1"]
    options.timeout = 100
    options.transport = [.webSockets, .longPolling]
    options.skipNegotiation = false
    options.logMessageContent = false
    options.logHandler = CustomLogHandler()
    options.logLevel = .error
    options.httpClient = nil
    var stateful = StatefulReconnectOptions()
    stateful.bufferSize = 1_000
    return [
        HubConnectionBuilder().withUrl(url: url),
        HubConnectionBuilder().withUrl(url: url, transport: .longPolling),
        HubConnectionBuilder().withUrl(url: url, options: options),
        HubConnectionBuilder().withUrl(url: url).withHubProtocol(hubProtocol: .messagePack),
        HubConnectionBuilder().withUrl(url: url).withHubProtocol(hubProtocol: .json).withLogLevel(logLevel: .error)
            .withLogHandler(logHandler: CustomLogHandler()),
        HubConnectionBuilder().withUrl(url: url).withServerTimeout(serverTimeout: 60)
            .withKeepAliveInterval(keepAliveInterval: 5),
        HubConnectionBuilder().withUrl(url: url).withAutomaticReconnect(),
        HubConnectionBuilder().withUrl(url: url).withAutomaticReconnect([0, 0, 1]),
        HubConnectionBuilder().withUrl(url: url).withAutomaticReconnect(retryDelays: [0, 0, 1]),
        HubConnectionBuilder().withUrl(url: url).withAutomaticReconnect(CustomRetryPolicy()),
        HubConnectionBuilder().withUrl(url: url).withAutomaticReconnect(retryPolicy: CustomRetryPolicy()),
        HubConnectionBuilder().withUrl(url: url).withStatefulReconnect(),
        HubConnectionBuilder().withUrl(url: url).withStatefulReconnect(options: stateful),
    ]
}

/// Makes every documented call of a connection, and passes each result to `log`.
func documentedProgram(_ connection: HubConnection, log: @escaping @Sendable (String) -> Void) async throws {
    await connection.on("none") { log("none") }
    await connection.on("one") { (a: String) in log("one \(a)") }
    await connection.on("two") { (user: String, message: String) in log("two \(user) \(message)") }
    await connection.on("three") { (a: Int, b: Double, c: Bool) in log("three \(a) \(b) \(c)") }
    await connection.on("four") { (a: String?, b: [Int], c: [String: Int], d: Weather) in
        log("four \(a ?? "nil") \(b) \(c) \(d.place)")
    }
    await connection.on("nine") {
        (a: Int, b: Int, c: Int, d: Int, e: Int, f: Int, g: Int, h: Int, i: Int) in
        log("nine \([a, b, c, d, e, f, g, h, i])")
    }
    await connection.on("result") { "x" }
    await connection.on("sum") { (a: Int, b: Int) in a + b }
    await connection.on("asyncResult") { (a: Int) async throws -> Int in a + 1 }
    connection.onClosed { error in log("closed \(error == nil)") }
    connection.onReconnecting { error in log("reconnecting \(error == nil)") }
    connection.onReconnected { log("reconnected") }

    try await connection.start()
    log("\(await connection.state() == .Connected)")

    try await connection.send(method: "call_me", arguments: "none")
    try await connection.send(method: "call_me", arguments: "one", "a")
    try await connection.invoke(method: "call_me", arguments: "two", "me", "hello")
    try await connection.invoke(method: "call_me", arguments: "three", 1, 2.5, true)
    let weather = Weather(place: "Oslo", degrees: [1.5, -2])
    try await connection.invoke(
        method: "call_me",
        arguments: "four",
        Optional<String>.none,
        [1, 2],
        ["a": 1],
        weather
    )
    try await connection.invoke(method: "call_me", arguments: "nine", 1, 2, 3, 4, 5, 6, 7, 8, 9)
    let sum: Int = try await connection.invoke(method: "ask_me", arguments: "sum", 40, 2)
    log("sum \(sum)")
    let text: String = try await connection.invoke(method: "ask_me", arguments: "result")
    log("result \(text)")
    let next: Int = try await connection.invoke(method: "ask_me", arguments: "asyncResult", 1)
    log("next \(next)")
    let echo: Weather = try await connection.invoke(method: "echo", arguments: weather)
    log("echo \(echo == weather)")

    let stream: any StreamResult<Int> = try await connection.stream(method: "counter", arguments: 3)
    for try await item in stream.stream { log("item \(item)") }
    let cancelled: any StreamResult<Int> = try await connection.stream(method: "counter", arguments: 1_000_000, 0.001)
    await cancelled.cancel()
    for try await item in cancelled.stream { log("late \(item)") }

    let (clientStream, continuation) = AsyncStream.makeStream(of: Int.self)
    async let total: Int = connection.invoke(method: "add_stream", arguments: clientStream)
    for number in 1...3 { continuation.yield(number) }
    continuation.finish()
    log("total \(try await total)")

    do {
        try await connection.invoke(method: "fail", arguments: "bad")
    } catch SignalRError.invocationError(let message) {
        log("failed \(message.contains("bad"))")
    }
    await connection.off(method: "one")
    await connection.stop()
    log("\(await connection.state() == .Stopped)")
}

/// Switches over an enum without a `default`, as a program may do.
func documentedName(of state: HubConnectionState) -> String {
    switch state {
    case .Stopped: "stopped"
    case .Connecting: "connecting"
    case .Connected: "connected"
    case .Reconnecting: "reconnecting"
    }
}

func documentedText(of error: SignalRError) -> String {
    switch error {
    case .incompleteMessage, .invalidDataType, .failedToEncodeHandshakeRequest, .failedToDecodeResponseData,
        .expectedHandshakeResponse, .noHandshakeMessageReceived, .unsupportedHandshakeVersion, .connectionAborted,
        .invalidTextMessageEncoding, .httpTimeoutError, .invalidResponseType, .cannotSentUntilTransportConnected,
        .eventSourceFailedToConnect, .eventSourceInvalidTransferFormat, .messageBiggerThan2GB, .streamCancelled:
        error.description
    case .handshakeError(let text), .negotiationError(let text), .failedToStartConnection(let text),
        .invalidOperation(let text), .invalidData(let text), .invalidUrl(let text), .invocationError(let text),
        .unsupportedTransport(let text), .unexpectedMessageType(let text):
        text
    case .unexpectedResponseCode(let status): "\(status)"
    case .serverTimeout(let seconds): "\(seconds)"
    }
}

/// Uses the other types of the API, and returns whether some of their values are right.
func documentedValues() -> Bool {
    let all: HttpTransportType = [.webSockets, .serverSentEvents, .longPolling]
    let request = HttpRequest(method: .GET, url: "http://127.0.0.1", responseType: .text, headers: [:], timeout: 5)
    let types: [MessageType] = [
        .invocation, .streamItem, .completion, .streamInvocation, .cancelInvocation, .ping, .close, .ack, .sequence,
    ]
    let methods: [HttpMethod] = [.GET, .PUT, .PATCH, .POST, .DELETE]
    return all.rawValue == 7 && HttpTransportType.none.isEmpty && TransferFormat.binary.rawValue == 2
        && request.timeout == 5 && request.content == nil && StringOrData.string("a") != .data(Data())
        && types.map(\.rawValue) == Array(1...9) && methods.count == 5
        && MsgpackTimestamp(seconds: 1, nanoseconds: 2).seconds == 1
}
