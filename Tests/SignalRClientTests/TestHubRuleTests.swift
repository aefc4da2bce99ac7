import Foundation
import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

/// Tests of the rules that the test hub enforces, with each rule on and off.
@Suite("The test hub's rules for clients", .limited) struct TestHubRuleTests {
    private func withRule(
        _ rule: TestHubRule,
        _ configure: (inout TestHubOptions) -> Void = { _ in },
        _ body: (_ server: SignalRTestServer, _ isEnforced: Bool) async throws -> Void
    ) async throws {
        for isEnforced in [true, false] {
            var options = TestHubOptions()
            if !isEnforced { options.tolerated = [rule] }
            configure(&options)
            try await withServer(options) { try await body($0, isEnforced) }
        }
    }

    private static let handshake = #"{"protocol":"json","version":1}"# + "\u{1E}"
    private static let add = #"{"type":1,"invocationId":"1","target":"add","arguments":[40,2]}"#
    private static let sum = Wire.Frame.text(#"{"type":3,"invocationId":"1","result":42}"# + "\u{1E}")

    private struct Counter: Codable {
        var count: Int
    }

    @Test("a POST on a WebSocket's connection gets 405")
    func postOnWebSocket() async throws {
        try await withRule(.noPostOnWebSocket) { server, isEnforced in
            let token = try await Wire.negotiate(server)
            try await withWire(server) { wire in
                try await wire.connect("/hub?id=\(token)")
                try await withWire(server) { other in
                    let answer = try await other.request("POST", "/hub?id=\(token)", body: Self.add + "\u{1E}")
                    #expect(answer.status == (isEnforced ? 405 : 200))
                    let text = "POST requests are not allowed for WebSocket connections."
                    if isEnforced { #expect(answer.body == text) }
                }
            }
        }
    }

    @Test("a POST before the connection has a transport gets 400")
    func postBeforeTransport() async throws {
        try await withRule(.noPostBeforeTransport) { server, isEnforced in
            let token = try await Wire.negotiate(server)
            try await withWire(server) { wire in
                let answer = try await wire.request("POST", "/hub?id=\(token)", body: Self.handshake)
                #expect(answer.status == (isEnforced ? 400 : 200))
            }
        }
    }

    @Test("a transport that is not offered gets 404")
    func unofferedTransport() async throws {
        try await withRule(.onlyOfferedTransports) {
            $0.transports = [.webSockets]
        } _: { server, isEnforced in
            let token = try await Wire.negotiate(server)
            try await withWire(server) { wire in
                let answer = try await wire.request("GET", "/hub?id=\(token)")
                #expect(answer.status == (isEnforced ? 404 : 200))
                let text = "LongPolling transport not supported by this end point type"
                if isEnforced { #expect(answer.body == text) }
            }
            try await withWire(server) { wire in
                let target = "/hub?id=\(try await Wire.negotiate(server))"
                let answer = try await wire.exchange(
                    "GET \(target) HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n\n",
                    upTo: isEnforced ? "end point type" : ":\r\n"
                )
                #expect(answer.hasPrefix("HTTP/1.1 \(isEnforced ? 404 : 200) "))
            }
        }
        try await withRule(.onlyOfferedTransports) {
            $0.transports = [.longPolling]
        } _: { server, isEnforced in
            try await withWire(server) { wire in
                let isOpen = try await wire.open()
                #expect(isOpen == !isEnforced)
            }
        }
    }

    @Test("a handshake for MessagePack over events is refused")
    func messagePackOverEvents() async throws {
        try await withRule(.noMessagePackOverEvents) { server, isEnforced in
            try await withEvents(server, handshake: #"{"protocol":"messagepack","version":1}"#) { events, _ in
                let text = await events.receive(upTo: "\u{1E}")
                #expect(text.contains("data: {}") == !isEnforced)
                #expect(text.contains("does not support 'Binary' transfer format.") == isEnforced)
            }
        }
    }

    @Test("a call with a wrong number of streams fails")
    func streamCounts() async throws {
        try await withRule(.streamCounts) { server, isEnforced in
            server.on("sum", uploads: 1) { (_: TestHubCall) in 5 }
            try await withWire(server) { wire in
                try await wire.connect()
                for ids in [[], ["1", "2"]] {
                    try await wire.call(
                        #"{"type":1,"invocationId":"1","target":"sum","arguments":[],"streamIds":\#(ids)}"#
                    )
                    let reason = "HubException: Client sent \(ids.count) stream(s), Hub method expects 1."
                    let error = "An unexpected error occurred invoking 'sum' on the server. \(reason)"
                    let result = isEnforced ? #""error":"\#(error)""# : #""result":5"#
                    #expect(await wire.frame() == .text(#"{"type":3,"invocationId":"1",\#(result)}"# + "\u{1E}"))
                }
            }
        }
    }

    @Test("nil as the headers of a MessagePack message closes the connection")
    func messagePackHeaders() async throws {
        try await withRule(.messagePackHeaders) { server, isEnforced in
            try await withWire(server) { wire in
                try await wire.connect("/hub", "messagepack")
                // [1, nil, "1", "add", [40, 2], []]
                let call: [UInt8] = [0x96, 1, 0xC0, 0xA1, 0x31, 0xA3, 0x61, 0x64, 0x64, 0x92, 40, 2, 0x90]
                try await wire.send(0x82, [UInt8(call.count)] + call)
                let frame = await wire.frame()
                guard isEnforced else { return #expect(frame?.payload == [7, 0x95, 3, 0x80, 0xA1, 0x31, 3, 42]) }
                #expect(frame?.text.contains("Connection closed with an error.") == true)
                #expect(frame?.payload.last == 0xC3)
                #expect(await wire.frame() == .close(1000))
            }
        }
    }

    @Test("a floating-point number for an integer fails, also for an optional one, a property and in a built-in method")
    func floats() async throws {
        try await withRule(.integersWithoutFractions) { server, isEnforced in
            server.on("Twice") { (_, number: Int) in number * 2 }
            server.on("Perhaps") { (_, number: Int?) in (number ?? 0) * 2 }
            server.on("Nested") { (_, counters: [Counter]) in counters.reduce(0) { $0 + $1.count } * 2 }
            try await withWire(server) { wire in
                try await wire.connect()
                for (method, arguments) in [
                    ("Twice", "[2.0]"), ("Perhaps", "[2.0]"), ("add", "[2.0,2]"), ("Nested", #"[[{"count":2.0}]]"#),
                ] {
                    try await wire.call(
                        #"{"type":1,"invocationId":"1","target":"\#(method)","arguments":\#(arguments)}"#
                    )
                    let error = #""error":"Failed to invoke '\#(method)' due to an error on the server.""#
                    let result = isEnforced ? error : #""result":4"#
                    #expect(await wire.frame() == .text(#"{"type":3,"invocationId":"1",\#(result)}"# + "\u{1E}"))
                }
                try await wire.call(#"{"type":1,"invocationId":"1","target":"perhaps","arguments":[null]}"#)
                #expect(await wire.frame()?.text.contains(#""result":0"#) == true)
            }
            try await withWire(server) { wire in
                try await wire.connect("/hub", "messagepack")
                let floats: [[UInt8]] = [[0xCA, 0x40, 0, 0, 0], [0xCB, 0x40, 0, 0, 0, 0, 0, 0, 0]]
                for float in floats {
                    // [1, {}, "1", "twice", [2.0], []]
                    let call = [0x96, 1, 0x80, 0xA1, 0x31, 0xA5] + Array("twice".utf8) + [0x91] + float + [0x90]
                    try await wire.send(0x82, [UInt8(call.count)] + call)
                    let frame = await wire.frame()
                    #expect(isEnforced == (frame?.text.contains("Failed to invoke 'Twice'") == true))
                    if !isEnforced { #expect(frame?.payload == [7, 0x95, 3, 0x80, 0xA1, 0x31, 3, 4]) }
                }
                // [1, {}, "1", "nested", [[{"count": 2.0}]], []]
                var call = [0x96, 1, 0x80, 0xA1, 0x31, 0xA6] + Array("nested".utf8) + [0x91, 0x91, 0x81, 0xA5]
                call += Array("count".utf8) + floats[0] + [0x90]
                try await wire.send(0x82, [UInt8(call.count)] + call)
                #expect(isEnforced == (await wire.frame()?.text.contains("Failed to invoke 'Nested'") == true))
            }
        }
    }

    @Test("a floating-point number for an integer fails in an item of an upload, and in the result of a client")
    func floatsElsewhere() async throws {
        try await withRule(.integersWithoutFractions) { server, isEnforced in
            server.on("Sum", uploads: 1) { (call: TestHubCall) in
                var sum = 0
                for try await number in call.upload(0, of: Int.self) { sum += number }
                return sum
            }
            server.on("Ask") { (call: TestHubCall) in try await call.invoke("count", returning: Int.self) }
            try await withWire(server) { wire in
                try await wire.connect()
                try await wire.call(#"{"type":1,"invocationId":"1","target":"Sum","arguments":[],"streamIds":["u"]}"#)
                try await wire.call(#"{"type":2,"invocationId":"u","item":2.0}"#)
                try await wire.call(#"{"type":3,"invocationId":"u"}"#)
                let sum = await wire.frame()?.text
                #expect(sum?.contains(isEnforced ? "Failed to bind Stream message." : #""result":2"#) == true)
                try await wire.call(#"{"type":1,"invocationId":"1","target":"Ask","arguments":[]}"#)
                _ = await wire.frame()
                try await wire.call(#"{"type":3,"invocationId":"s1","result":2.0}"#)
                let result = await wire.frame()?.text
                #expect(result?.contains(isEnforced ? "Error trying to deserialize" : #""result":2"#) == true)
            }
        }
    }

    @Test("an app's own decoder for JSON accepts floating-point numbers for integers")
    func floatsForOwnDecoder() async throws {
        var options = TestHubOptions()
        options.jsonDecoder = { JSONDecoder() }
        try await withServer(options) { server in
            server.on("Twice") { (_, number: Int) in number * 2 }
            try await withWire(server) { wire in
                try await wire.connect()
                try await wire.call(#"{"type":1,"invocationId":"1","target":"Twice","arguments":[21.0]}"#)
                #expect(await wire.frame() == Self.sum)
            }
        }
    }

    @Test("frames without a mask, with reserved bits or with text that is not UTF-8 close the WebSocket")
    func frames() async throws {
        let call = Array((Self.add + "\u{1E}").utf8)
        let cases: [(TestHubRule, head: UInt8, [UInt8], isMasked: Bool, code: UInt16)] = [
            (.maskedFrames, 0x81, call, false, 1002), (.noReservedFrames, 0xC1, call, true, 1002),
            (.noReservedFrames, 0x83, [], true, 1002), (.textIsUTF8, 0x81, [0xFF, 0x1E], true, 1007),
        ]
        for (rule, head, payload, isMasked, code) in cases {
            try await withRule(rule) { server, isEnforced in
                try await withWire(server) { wire in
                    try await wire.connect()
                    try await wire.send(head, payload, isMasked: isMasked)
                    if isEnforced { return #expect(await wire.frame() == .close(code), "\(rule)") }
                    if payload.isEmpty { try await wire.call(Self.add) }
                    // Text that is not UTF-8 is not JSON either.
                    let answer = payload.count == 2 ? #"{"type":7,"# : #"{"type":3,"#
                    #expect(await wire.frame()?.text.hasPrefix(answer) == true, "\(rule)")
                }
            }
        }
    }

    @Test("a client that never pings gets a Close message that allows a reconnect")
    func pings() async throws {
        try await withRule(.pings) {
            $0.clientTimeout = .milliseconds(200)
        } _: { server, isEnforced in
            try await withWire(server) { wire in
                try await wire.connect()
                if !isEnforced {
                    try await pass(0.4, on: server)
                    try await wire.call(Self.add)
                    return #expect(await wire.frame() == Self.sum)
                }
                #expect(await wire.frame() == .text(#"{"type":7,"allowReconnect":true}"# + "\u{1E}"))
                #expect(await wire.frame() == .close(1000))
            }
        }
    }

    @Test("a client of events that never pings gets a Close message, and the end of the stream")
    func pingsOfEvents() async throws {
        var options = TestHubOptions()
        options.clientTimeout = .milliseconds(200)
        try await withServer(options) { server in
            try await withEvents(server) { events, _ in
                let text = await events.receive(upTo: "\r\n0\r\n\r\n")
                #expect(text.contains(#"data: {"type":7,"allowReconnect":true}"# + "\u{1E}"))
            }
        }
    }

    @Test("a client that never shakes hands is refused")
    func handshakes() async throws {
        try await withRule(.handshakes) {
            $0.handshakeTimeout = .milliseconds(200)
        } _: { server, isEnforced in
            try await withWire(server) { wire in
                #expect(try await wire.open())
                if !isEnforced {
                    try await pass(0.4, on: server)
                    try await wire.send(Self.handshake)
                    return #expect(await wire.frame() == .text("{}\u{1E}"))
                }
                #expect(await wire.frame() == .text(#"{"error":"Handshake was canceled."}"# + "\u{1E}"))
                #expect(await wire.frame() == .close(1000))
            }
        }
    }

    @Test("a client that does not poll again is forgotten")
    func polls() async throws {
        try await withRule(.polls) {
            $0.disconnectTimeout = .milliseconds(200)
        } _: { server, isEnforced in
            try await withWire(server) { wire in
                // On a busy machine, the server may forget the connection before the first poll.
                var (token, count) = (try await Wire.negotiate(server), 1)
                while try await wire.request("GET", "/hub?id=\(token)").status != 200 {
                    (token, count) = (try await Wire.negotiate(server), count + 1)
                }
                if isEnforced {
                    await server.waitForDisconnections(count: count)
                } else {
                    try await pass(0.4, on: server)
                }
                let status = try await wire.request("POST", "/hub?id=\(token)", body: Self.handshake).status
                #expect(status == (isEnforced ? 404 : 200))
            }
        }
    }

    @Test("a client that never acknowledges gets no more than the buffer's size")
    func acknowledgements() async throws {
        try await withRule(.acknowledgements) {
            $0.statefulBufferSize = 1_000
        } _: { server, isEnforced in
            let token = try await Wire.negotiate(server, "&useStatefulReconnect=true")
            try await withWire(server) { wire in
                try await wire.connect("/hub?id=\(token)", version: 2)
                for number in 1...10 { server.sendAll("news", number, String(repeating: "x", count: 400)) }
                let first = await wire.texts(3)
                #expect(first.count == 3)
                if !isEnforced { return #expect(await wire.texts(7).count == 7) }
                // After this call, the server has nothing more to send.
                try await wire.send(0x89, [1])
                #expect(await wire.frame() == Wire.Frame(head: 0x8A, payload: [1]))
                try await wire.call(#"{"type":8,"sequenceId":3}"#)
                let next = await wire.texts(3)
                #expect(next.allSatisfy { $0.contains(#""target":"news""#) })
            }
        }
    }
}
