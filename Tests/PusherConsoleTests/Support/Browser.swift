import Foundation
import PusherProtocol
import TestSupport
import Testing
import WebSocketClient

@testable import pusher

/// A page in headless Chromium, controlled over the DevTools protocol.
final class Browser: Sendable {
    private let process: ChildProcess
    private let profile: URL
    private let webSocket: WebSocket
    private let commands: CommandQueue
    private let reader: Task<Void, any Error>

    /// The path of Chromium, which `make test-console` sets. If nil, the tests in a browser do not run.
    static let path = ProcessInfo.processInfo.environment["CHROMIUM"].flatMap { $0.isEmpty ? nil : $0 }

    /// Opens a page, calls `body`, and closes the browser.
    static func open(_ url: String, _ body: (Browser) async throws -> Void) async throws {
        let browser = try await Browser(path: try #require(path))
        do {
            try await browser.load(url)
            try await body(browser)
        } catch {
            await browser.end()
            throw error
        }
        await browser.end()
    }

    private init(path: String) async throws {
        profile = FileManager.default.temporaryDirectory.appendingPathComponent("console-browser-\(UUID())")
        let arguments = [
            "--headless", "--no-sandbox", "--remote-debugging-port=0", "--user-data-dir=\(profile.path)",
            "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run",
            "about:blank",
        ]
        process = try ChildProcess(path, arguments, showsErrors: true)
        var address: Substring?
        for await line in process.lines where line.hasPrefix("DevTools listening on ") {
            address = line.dropFirst("DevTools listening on ".count)
            break
        }
        let url = String(try #require(address, "Chromium ended before it listened."))
        var options = WebSocketOptions()
        options.proxy = .direct
        webSocket = try await WebSocket.connect(to: url, options: options)
        let commands = CommandQueue()
        self.commands = commands
        reader = Task { [messages = webSocket.messages] in
            for try await message in messages {
                guard case .text(let text) = message, let value = JSONValue(parsing: text) else { continue }
                await commands.receive(value)
            }
            await commands.end()
        }
    }

    private func end() async {
        _ = try? await commands.call("Browser.close", [:], session: nil, on: webSocket)
        _ = await process.end()
        reader.cancel()
        try? FileManager.default.removeItem(at: profile)
    }

    private func load(_ url: String) async throws {
        let created = try await commands.call(
            "Target.createTarget",
            ["url": "about:blank"],
            session: nil,
            on: webSocket
        )
        let attached = try await commands.call(
            "Target.attachToTarget",
            ["targetId": created["targetId"] ?? nil, "flatten": true],
            session: nil,
            on: webSocket
        )
        await commands.use(session: attached["sessionId"]?.string)
        for domain in ["Page", "Runtime", "Log"] { try await send("\(domain).enable") }
        try await send("Page.navigate", ["url": .string(url)])
        try await wait(
            "document.readyState === 'complete' && document.getElementById('link')?.dataset.state === 'live'"
        )
    }

    // MARK: Commands

    @discardableResult
    func send(_ method: String, _ parameters: [String: JSONValue] = [:]) async throws -> JSONValue {
        try await commands.call(method, parameters, session: commands.session, on: webSocket)
    }

    /// Returns the value of a JavaScript expression. If the value is a promise, waits for it.
    @discardableResult
    func evaluate(_ expression: String) async throws -> JSONValue {
        let parameters: [String: JSONValue] = [
            "expression": .string(expression), "returnByValue": true, "awaitPromise": true, "userGesture": true,
        ]
        let answer = try await send("Runtime.evaluate", parameters)
        if let failure = answer["exceptionDetails"] { throw ConsoleError("\(expression): \(failure.jsonText)") }
        return answer["result"]?["value"] ?? nil
    }

    /// Waits until the expression is true, for at most 30 s. Checks the expression every 10 ms.
    func wait(_ condition: String) async throws {
        let text = """
            new Promise((resolve) => {
              const end = Date.now() + 30000;
              const look = () => (\(condition)) ? resolve(true) : Date.now() > end ? resolve(false) : setTimeout(look, 10);
              look();
            })
            """
        guard try await evaluate(text) == true else {
            throw ConsoleError(
                "Waited for \(condition). The page says: \(try await evaluate("document.body.innerText"))"
            )
        }
    }

    /// Presses and releases a key, such as `Tab` or `ArrowDown`.
    func press(_ key: String, code: Int, modifiers: Int = 0, text: String? = nil) async throws {
        var parameters: [String: JSONValue] = [
            "type": "keyDown", "key": .string(key), "code": .string(key), "windowsVirtualKeyCode": .integer(code),
            "modifiers": .integer(modifiers),
        ]
        if let text { parameters["text"] = .string(text) }
        try await send("Input.dispatchKeyEvent", parameters)
        parameters["type"] = "keyUp"
        parameters["text"] = nil
        try await send("Input.dispatchKeyEvent", parameters)
    }

    /// Shows the page as on a screen of this size, with or without dark colours.
    func show(width: Int, height: Int, isDark: Bool) async throws {
        let metrics: [String: JSONValue] = [
            "width": .integer(width), "height": .integer(height), "deviceScaleFactor": 1, "mobile": false,
        ]
        try await send("Emulation.setDeviceMetricsOverride", metrics)
        let scheme: JSONValue = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
        try await send("Emulation.setEmulatedMedia", ["features": [scheme]])
        try await evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    }

    /// Takes a picture of the page, as WebP.
    func screenshot() async throws -> Data {
        let picture = try await send("Page.captureScreenshot", ["format": "webp", "quality": 90])
        return try #require(picture["data"]?.string.flatMap { Data(base64Encoded: $0) })
    }

    /// The errors and warnings in the browser's console.
    var complaints: [String] { get async { await commands.complaints } }
}

/// The commands without an answer, and the messages that are not answers.
private actor CommandQueue {
    private(set) var session: String?
    private(set) var complaints: [String] = []
    private var waiting: [Int: CheckedContinuation<JSONValue, any Error>] = [:]
    private var lastID = 0
    private var isOver = false

    func use(session: String?) { self.session = session }

    func call(
        _ method: String,
        _ parameters: [String: JSONValue],
        session: String?,
        on webSocket: WebSocket
    ) async throws -> JSONValue {
        lastID += 1
        let id = lastID
        var command: [String: JSONValue] = [
            "id": .integer(id), "method": .string(method), "params": .object(WireTable(parameters)),
        ]
        if let session { command["sessionId"] = .string(session) }
        let text = JSONValue.object(WireTable(command)).jsonText
        return try await withCheckedThrowingContinuation { continuation in
            if isOver { return continuation.resume(throwing: ConsoleError("The browser has ended.")) }
            waiting[id] = continuation
            Task {
                do {
                    try await webSocket.send(text)
                } catch {
                    waiting.removeValue(forKey: id)?.resume(throwing: error)
                }
            }
        }
    }

    func receive(_ message: JSONValue) {
        if let id = message["id"]?.integer, let continuation = waiting.removeValue(forKey: id) {
            if let error = message["error"] {
                continuation.resume(throwing: ConsoleError("Chromium says: \(error.jsonText)"))
            } else {
                continuation.resume(returning: message["result"] ?? nil)
            }
        }
        switch message["method"]?.string {
        case "Runtime.exceptionThrown": complaints.append(message.jsonText)
        case "Runtime.consoleAPICalled"
        where ["error", "warning", "assert"].contains(message["params"]?["type"]?.string):
            complaints.append(message.jsonText)
        case "Log.entryAdded" where ["error", "warning"].contains(message["params"]?["entry"]?["level"]?.string):
            complaints.append(message.jsonText)
        default: break
        }
    }

    func end() {
        isOver = true
        for continuation in waiting.values { continuation.resume(throwing: ConsoleError("The browser has ended.")) }
        waiting = [:]
    }
}
