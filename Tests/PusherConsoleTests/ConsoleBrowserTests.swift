import Foundation
import PusherClient
import PusherProtocol
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import pusher

/// `make test-console` runs these tests. They need Chromium.
@Suite(
    "The console in a browser",
    .enabled(if: Browser.path != nil, "CHROMIUM names no browser: see make test-console"),
    .serialized,
    .limited
)
struct ConsoleBrowserTests {
    @Test("at a width of 390 px, the page shows the filters and what happened, and it names an empty result")
    func narrow() async throws {
        try await RunningConsole.run { console in
            try await Browser.open(console.url) { page in
                try await page.show(width: 390, height: 844, isDark: false)
                try console.server.publish(event: "created", data: "1", to: "orders")
                try await page.wait("document.getElementById('rows').innerText.includes('created')")
                let fits = { (selector: String) in
                    """
                    [...document.querySelectorAll('\(selector)')].every((part) => {
                      const box = part.getBoundingClientRect();
                      return box.width > 0 && box.left >= 0 && box.right <= 390;
                    })
                    """
                }
                for part in ["#filter", "#kinds button", ".columns span", ".row:not([hidden]) .verb"] {
                    #expect(try await page.evaluate(fits(part)) == true, "\(part)")
                }
                #expect(try await page.evaluate("document.getElementById('no-match').hidden") == true)
                try await page.evaluate("document.getElementById('filter').value = 'nothing like this'; refilter();")
                try await page.wait("!document.getElementById('no-match').hidden")
                #expect(try await page.evaluate("document.getElementById('empty').hidden") == true)
            }
        }
    }

    @Test("the page shows a client that connects, and the client gets an event from the page")
    func publishing() async throws {
        try await RunningConsole.run { console in
            try await Browser.open(console.url) { page in
                #expect(try await page.evaluate("document.getElementById('empty').hidden") == false)
                let pusher = console.client()
                let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
                let channel = pusher.subscribe("orders")
                var events = channel.events(named: "created").makeAsyncIterator()
                try await pusher.connected()
                try await channel.subscribed()
                try await room.subscribed()
                let socketID = try #require(pusher.connection.socketId)
                try await page.wait("document.getElementById('connections').innerText.includes('\(socketID)')")
                try await page.wait("document.getElementById('channels').innerText.includes('presence-room')")
                let member = try #require(room.members.first?.userId)
                try await page.wait("document.getElementById('channels').innerText.includes('\(member)')")
                try await page.wait("document.getElementById('rows').innerText.includes('subscribed')")
                #expect(try await page.evaluate("document.getElementById('empty').hidden") == true)

                try await page.evaluate("document.getElementById('data').value = '{\"id\":7}'")
                try await page.evaluate("document.querySelector('#publish .primary').click()")
                #expect(await events.next()?.data == #"{"id":7}"#)
                try await page.wait("document.getElementById('publish-result').innerText === 'Sent to 1 connection.'")
                try await page.wait(#"document.getElementById('rows').innerText.includes('{"id":7}')"#)

                // The selected line shows its whole message.
                try await page.evaluate("document.getElementById('log').focus()")
                try await page.press("End", code: 35)
                try await page.wait("document.getElementById('payload').innerText.includes('\"id\": 7')")

                try await page.evaluate("document.querySelector('[data-action=drop]').click()")
                try await page.wait("document.getElementById('fault-result').innerText.startsWith('Dropped')")
                try await console.server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
                await pusher.disconnected()
                try await page.wait("document.getElementById('connection-count').innerText === '0'")
                #expect(await page.complaints == [])
            }
        }
    }

    @Test("the page stays fast with 10,000 events, and counts removed lines")
    func manyEvents() async throws {
        let count = 10_000
        try await RunningConsole.run { console in
            try await Browser.open(console.url) { page in
                let pusher = console.client()
                let channel = pusher.subscribe("orders")
                try await pusher.connected()
                try await channel.subscribed()
                let start = ContinuousClock.now
                for number in 1...count {
                    try console.server.publish(event: "created", data: #"{"id":\#(number)}"#, to: "orders")
                }
                try await page.wait("document.getElementById('rows').innerText.includes('\"id\":\(count)}')")
                let arrived = ContinuousClock.now - start
                // The page shows or counts every line.
                let lines = console.server.records.count { record in
                    // The console has no line for an event with recipients, because each recipient's message has a
                    // line.
                    if case .eventPublished(_, _, 1...) = record.event { false } else { true }
                }
                #expect(lines >= count)
                try await page.wait("rows.length + cut >= \(lines)")
                #expect(try await page.evaluate("rows.length + cut").integer == lines)
                #expect(try #require(try await page.evaluate("document.querySelectorAll('.row').length").integer) < 200)

                let filtering = try await page.evaluate(
                    """
                    (() => {
                      const start = performance.now();
                      document.getElementById('filter').value = '"id":9999';
                      document.getElementById('filter').dispatchEvent(new Event('input'));
                      drawRows();
                      return performance.now() - start;
                    })()
                    """
                ).double
                #expect(try await page.evaluate("shown.map((line) => line.detail).join()") == #"{"id":9999}"#)
                try await page.evaluate("document.getElementById('filter').value = ''; refilter(); drawRows();")
                try await page.wait("isDrawn && log.scrollTop > 0")
                try await page.evaluate("log.scrollTop = 0")
                try await page.wait("follows === false && pool.some((row) => !row.hidden && row.entry === rows[0])")
                print("console: \(count) events were shown after \(arrived), filtered in \(filtering ?? -1) ms")
                #expect(try #require(filtering) < 1_000)

                // Beyond its limit, the page removes the oldest lines and counts them.
                for number in count + 1...count + 15_000 {
                    try console.server.publish(event: "created", data: #"{"id":\#(number)}"#, to: "orders")
                }
                let allLines = lines + 15_000
                try await page.wait("rows.length + cut >= \(allLines)")
                #expect(try await page.evaluate("rows.length + cut").integer == allLines)
                #expect(try #require(try await page.evaluate("rows.length").integer) <= 20_500)
                try await page.wait("document.getElementById('cut').innerText.includes('older lines are cut')")
                #expect(await page.complaints == [])
                await pusher.disconnected()
            }
        }
    }

    @Test("the page counts lines that the server has removed, and a pause loses no lines")
    func countingAndPausing() async throws {
        try await RunningConsole.run(log: ConsoleLog(countLimit: 6)) { console in
            // Each event has two lines: the console's action, and an event without a recipient.
            for _ in 1...8 { #expect(try await console.publish("before") == 200) }
            try await Browser.open(console.url) { page in
                try await page.wait("document.getElementById('cut').innerText.startsWith('10 older lines are cut')")
                try await page.evaluate("document.getElementById('pause').click()")
                for _ in 1...3 { #expect(try await console.publish("later") == 200) }
                try await page.wait("document.getElementById('pause').innerText === 'Resume (6)'")
                #expect(try await page.evaluate("document.getElementById('rows').innerText.includes('later')") == false)
                try await page.evaluate("document.getElementById('pause').click()")
                try await page.wait("document.getElementById('line-count').innerText === '12 lines'")
                try await page.evaluate("document.querySelector('#kinds [data-kind=console]').click()")
                try await page.wait("document.getElementById('line-count').innerText.endsWith(' of 12 lines')")
                #expect(try await page.evaluate("shown.every((line) => line.kind === 'event')") == true)
                #expect(await page.complaints == [])
            }
        }
    }

    @Test("strings from clients and backends never become markup")
    func hostileTexts() async throws {
        let hostile = "<img src=x onerror='window.harmed = true'><script>window.harmed = true</script>"
        try await RunningConsole.run { console in
            try console.server.publish(event: hostile, data: hostile, to: "orders")
            try await Browser.open(console.url) { page in
                let request = JSONValue.object([
                    "action": "publish", "event": .string(hostile), "channel": "orders", "data": .string(hostile),
                ])
                #expect(try await console.act(request.jsonText).status == 200)
                try await page.wait("shown.some((line) => line.kind === 'console')")
                let rows = "document.getElementById('rows')"
                #expect(try await page.evaluate("\(rows).innerText.includes('<img src=x')") == true)
                try await page.evaluate("select(shown.find((line) => line.kind === 'console'))")
                #expect(try await page.evaluate("document.getElementById('payload').innerText") == .string(hostile))
                #expect(try await page.evaluate("document.querySelectorAll('img, #middle script').length") == 0)
                #expect(try await page.evaluate("window.harmed === undefined") == true)
                #expect(await page.complaints == [])
            }
        }
    }

    @Test("the page continues after a restart of the server")
    func restart() async throws {
        let host = LoopbackAddress.ofItsOwn()
        func serve(port: String) async throws -> (process: ChildProcess, port: String, url: String) {
            let process = try ChildProcess("pusher", ["serve", "--host", host, "--port", port])
            var values: [Substring: String] = [:]
            for await line in process.lines {
                if line == "ready" { break }
                values[line.prefix(10)] = String(line.dropFirst(10))
            }
            return (process, try #require(values["port      "]), try #require(values["console   "]))
        }
        let first = try await serve(port: "0")
        try await Browser.open(first.url) { page in
            first.process.send(SIGKILL)
            #expect(await first.process.end() == SIGKILL)
            try await page.wait("document.getElementById('link').dataset.state === 'lost'")
            let second = try await serve(port: first.port)
            #expect(second.url == first.url)
            try await page.wait("document.getElementById('rows').innerText.includes('started again')")
            try await page.wait("document.getElementById('link').dataset.state === 'live'")
            try await page.evaluate("document.querySelector('#publish .primary').click()")
            try await page.wait("document.getElementById('publish-result').innerText.startsWith('Sent to 0')")
            second.process.send(SIGTERM)
            #expect(await second.process.end() == 0)
        }
    }

    @Test("the page works by keyboard, its elements have names, and its text has enough contrast in light and dark")
    func accessibility() async throws {
        try await Showcase.open { page in
            // After the skip link, Tab moves to the log, and the arrow keys choose a line.
            try await page.press("Tab", code: 9)
            #expect(try await page.evaluate("document.activeElement.className") == "skip")
            var reached: Set<String> = []
            for _ in 0..<60 {
                try await page.press("Tab", code: 9)
                let id = try await page.evaluate("document.activeElement.id").string ?? ""
                guard reached.insert(id).inserted, id == "log" else { continue }
                try await page.press("ArrowUp", code: 38)
                try await page.press("ArrowUp", code: 38)
                try await page.wait("selected === shown[shown.length - 2]")
                try await page.wait(
                    "document.getElementById(log.getAttribute('aria-activedescendant'))?.ariaSelected === 'true'"
                )
            }
            #expect(
                reached.isSuperset(of: ["filter", "pause", "log", "payload", "channel", "data", "target", "code"])
            )
            let nameless = try await page.evaluate(
                """
                [...document.querySelectorAll('button, input, select, textarea, [tabindex], [role]')].filter((part) =>
                  part.checkVisibility() && !(part.ariaLabel || part.getAttribute('aria-labelledby')
                    || part.labels?.length || part.textContent.trim() || part.getAttribute('role') === 'status'))
                  .map((part) => part.outerHTML)
                """
            )
            #expect(nameless == [])
            for isDark in [false, true] {
                try await page.show(width: 1280, height: 800, isDark: isDark)
                #expect(try await page.evaluate(Self.lowContrast) == [], "dark: \(isDark)")
            }
            for width in [1280, 900, 400] {
                try await page.show(width: width, height: 800, isDark: false)
                let needed = try await page.evaluate("document.documentElement.scrollWidth").integer
                #expect(try #require(needed) <= width)
            }
            #expect(await page.complaints == [])
        }
    }

    @Test(
        "the browser takes pictures for the README",
        .enabled(if: Showcase.folder != nil, "SCREENSHOTS names no folder")
    )
    func pictures() async throws {
        try await Showcase.open { page in
            try await page.evaluate("select(shown.findLast((line) => line.kind === 'event'))")
            let folder = try #require(Showcase.folder)
            for (name, isDark) in [("console-light", false), ("console-dark", true)] {
                try await page.show(width: 1280, height: 720, isDark: isDark)
                let picture = try await page.screenshot()
                #expect(picture.count < 100_000)
                try picture.write(to: folder.appendingPathComponent("\(name).webp"))
            }
        }
    }

    /// A script that finds text whose contrast with the background is below 4.5 (WCAG 2, level AA).
    private static let lowContrast = """
        (() => {
          const numbers = (color) => color.match(/[0-9.]+/g).map(Number);
          const luminance = ([red, green, blue]) => {
            const linear = [red, green, blue].map((value) => {
              const part = value / 255;
              return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
          };
          const behind = (part) => {
            for (; part; part = part.parentElement) {
              const color = numbers(getComputedStyle(part).backgroundColor);
              if (color.length < 4 || color[3] === 1) return color;
            }
            return [255, 255, 255];
          };
          const found = [];
          const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          while (texts.nextNode()) {
            const part = texts.currentNode.parentElement;
            if (!texts.currentNode.data.trim() || !part.checkVisibility()) continue;
            const [light, dark] = [numbers(getComputedStyle(part).color), behind(part)].map(luminance)
              .sort((one, other) => other - one);
            const contrast = (light + 0.05) / (dark + 0.05);
            if (contrast < 4.5) found.push(`${texts.currentNode.data.trim()}: ${contrast.toFixed(2)}`);
          }
          return found;
        })()
        """
}

/// A server with connections and events to show.
enum Showcase {
    static let folder = ProcessInfo.processInfo.environment["SCREENSHOTS"].flatMap {
        $0.isEmpty ? nil : URL(fileURLWithPath: $0)
    }

    static func open(_ body: @escaping @Sendable (Browser) async throws -> Void) async throws {
        try await RunningConsole.run { console in
            let pushers = try await fill(console)
            try await Browser.open(console.url) { page in
                try await page.wait("document.getElementById('channels').innerText.includes('presence-room')")
                try await page.wait("rows.length > 10 && shown.length === rows.length")
                try await body(page)
            }
            for pusher in pushers { await pusher.disconnected() }
        }
    }

    /// Connects two users, who subscribe to channels and send messages.
    private static func fill(_ console: RunningConsole) async throws -> [Pusher] {
        let (ada, bob) = (console.client(user: "ada"), console.client(user: "bob"))
        for pusher in [ada, bob] {
            let names = ["presence-room", "private-chat", "orders"]
            let channels = names.map { pusher.subscribe($0) }
            try await pusher.connected()
            for channel in channels { try await channel.subscribed() }
        }
        for (number, item) in ["coffee", "tea"].enumerated() {
            let data = #"{"id":\#(number + 1),"item":"\#(item)","paid":true}"#
            let action = JSONValue.object([
                "action": "publish", "event": "created", "channel": "orders", "data": .string(data),
            ])
            #expect(try await console.act(action.jsonText).status == 200)
        }
        let chat = ada.subscribe("private-chat")
        try await chat.subscribed()
        try await chat.send("client-message", data: ["text": "Did you see the new order?"])
        try await console.server.nextRecord(timeout: .patience) { record in
            if case .clientEventRelayed = record.event { true } else { false }
        }
        return [ada, bob]
    }
}
