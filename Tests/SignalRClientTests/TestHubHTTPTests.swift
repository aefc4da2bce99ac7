import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

/// Tests of the hub with the bytes that other clients send.
@Suite(.limited) struct TestHubHTTPTests {
    @Test func aNegotiationWithoutAVersionHasVersionZeroAndNoToken() async throws {
        try await withServer { server in
            try await withWire(server) { wire in
                let old = try await wire.exchange(
                    "POST /hub/negotiate HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n",
                    upTo: "]}"
                )
                #expect(old.contains(#""negotiateVersion":0,"connectionId":"id-1","available"#))
                let negative = try await wire.exchange(
                    "POST /hub/negotiate?negotiateVersion=-1 HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n",
                    upTo: "]}"
                )
                #expect(negative.contains(#""negotiateVersion":0,"connectionId":"id-2","available"#))
                let new = try await wire.exchange(
                    "POST /hub/negotiate?negotiateVersion=1 HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n",
                    upTo: "]}"
                )
                #expect(new.contains(#""negotiateVersion":1,"connectionId":"id-3","connectionToken":"token/3+""#))
            }
        }
    }

    @Test(arguments: [0, 1]) func anUpgradeMayFollowTheNegotiationOnTheSameConnection(version: Int) async throws {
        try await withServer { server in
            try await withWire(server) { wire in
                _ = try await wire.exchange(
                    "POST /hub/negotiate HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n",
                    upTo: "]}"
                )
                let head = try await wire.exchange("GET /hub?id=id-1 HTTP/1.1\n" + Wire.upgrade, upTo: "\r\n\r\n")
                #expect(head.hasPrefix("HTTP/1.1 101 "))
                #expect(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
                // ASP.NET Core also accepts version 0 of the handshake.
                try await wire.send(#"{"protocol":"json","version":\#(version)}"# + "\u{1E}")
                #expect(await wire.receive(upTo: "{}\u{1E}").hasSuffix("{}\u{1E}"))
                try await wire.send(#"{"type":1,"invocationId":"7","target":"add","arguments":[40,2]}"# + "\u{1E}")
                let answer = await wire.receive(upTo: "42}\u{1E}")
                #expect(answer.contains(#"{"type":3,"invocationId":"7","result":42}"#))
            }
        }
    }

    @Test func aRefusedUpgradeIsAnswered() async throws {
        try await withServer { server in
            for (path, status) in [("/hub?id=unknown", 404), ("/elsewhere", 404)] {
                try await withWire(server) { wire in
                    let answer = try await wire.exchange("GET \(path) HTTP/1.1\n" + Wire.upgrade, upTo: "\r\n\r\n")
                    #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("Connection: close"))
                    // The server reads no further request, so it closes the connection.
                    _ = await wire.receive(upTo: "a further answer")
                }
            }
        }
    }

    @Test func aWrongPathIsNotFound() async throws {
        try await withServer { server in
            for transport: HttpTransportType in [.webSockets, .longPolling] {
                let url = "http://127.0.0.1:\(server.port)/chat"
                let connection = HubConnectionBuilder.patient.withUrl(url: url, transport: transport).build()
                let error = await #expect(throws: SignalRClientError.self) { try await connection.start() }
                #expect(error?.httpStatus == 404)
            }
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url + "/").build()
            try await connection.start()
            await connection.stop()
        }
    }

    @Test func aHubCanHaveAFixedPort() async throws {
        let first = try await SignalRTestServer.start()
        let port = first.port
        var options = TestHubOptions()
        options.port = port
        let error = await #expect(throws: SignalRClientError.self) {
            try await SignalRTestServer.start(options: options)
        }
        #expect(error?.message.contains("port \(port)") == true)
        await first.shutdown()
        let second = try await SignalRTestServer.start(options: options)
        #expect(second.port == port)
        await second.shutdown()
        options.port = 70_000
        await #expect(throws: SignalRClientError.self) { try await SignalRTestServer.start(options: options) }
    }

    @Test func theRecordsSayWhyACallFailed() async throws {
        struct Unlucky: Error { var reason: String }
        try await withConnection { connection, server in
            server.on("count") { (_: TestHubCall, _: Int) in 1 }
            server.on("break") { (_: TestHubCall) throws -> Int in throw Unlucky(reason: "no luck") }
            await connection.on("answer") { () throws -> Int in throw HubError("not now") }
            for (method, argument) in [("count", "one"), ("unknown", "x"), ("fail", "sorry"), ("ask_me", "answer")] {
                await #expect(throws: SignalRError.self) {
                    try await connection.invoke(method: method, arguments: argument)
                }
            }
            await #expect(throws: SignalRError.self) { try await connection.invoke(method: "break") }
            await #expect(throws: SignalRError.self) { try await connection.invoke(method: "count") }
            let failures = server.failures
            #expect(failures.map(\.method) == ["count", "unknown", "fail", "ask_me", "break", "count"])
            #expect(Set(failures.map(\.connectionID)) == [connection.connectionId])
            let parts = [
                "Int", "Failed to invoke 'unknown' due to an error on the server. HubException: Method does not exist.",
                "sorry", "not now", "no luck",
                "the invocation has 0 arguments, and the handler takes 1",
            ]
            for (failure, part) in zip(failures, parts) { #expect(failure.reason.contains(part), "\(failure)") }
            try await connection.invoke(method: "nothing")
            #expect(server.failures.count == 6)
        }
    }
}
