import SignalRCore
import TestTraits
import Testing

@Suite("Tokens that expire", .limited) struct RefreshingTests {
    private static let refused = HubFailure.client(SignalRClientError(.authenticationRefreshRefused, "no"))

    private func connected(
        _ lifetime: Duration?,
        _ info: TransportInfo = .longPolling,
        _ configure: (inout HubStateMachine.Configuration) -> Void = { _ in }
    ) -> World {
        var world = World(reconnects: true, configure)
        world.connect(info.expiring(after: lifetime))
        return world
    }

    @Test("one connection outlives 20 expiries, and its calls go on")
    func expiries() throws {
        var world = connected(.seconds(10))
        let call = world.invoke("slow")
        for count in 1...20 {
            _ = world.take()
            world.advance(by: .milliseconds(4_999))
            #expect(world.take() == [])
            world.advance(by: .milliseconds(1))
            #expect(world.take() == [.refreshAuthentication(try #require(world.refreshes.last))])
            #expect(world.refreshes.count == count)
            world.answerRefresh(.success(.seconds(10)))
            #expect(world.take() == [.announceRefreshed(.seconds(10))])
        }
        #expect(world.attempts.count == 1 && world.calls == [call])
        world.finishAll()
        #expect(world.violations == [])
    }

    @Test(
        "the refresh comes 5 minutes before the expiry, or after half of a shorter lifetime",
        arguments: [(3_600, 3_300), (600, 300), (599, 299.5), (1, 0.5), (0, 0.5)] as [(Double, Double)]
    )
    func lead(lifetime: Double, wait: Double) {
        var world = connected(.seconds(lifetime))
        world.advance(by: .seconds(wait) - .milliseconds(1))
        #expect(world.refreshes.isEmpty)
        world.advance(by: .milliseconds(1))
        #expect(world.refreshes.count == 1)
    }

    @Test("the lead is an option")
    func ownLead() {
        var world = connected(.seconds(100)) { $0.refreshLead = .seconds(7) }
        world.advance(by: .seconds(92))
        #expect(world.refreshes.isEmpty)
        world.advance(by: .seconds(1))
        #expect(world.refreshes.count == 1)
    }

    @Test("a server that names no further lifetime ends the refreshes")
    func lastLifetime() {
        var world = connected(.seconds(10))
        world.advance(by: .seconds(5))
        world.answerRefresh(.success(nil))
        world.advance(by: .seconds(86_400))
        #expect(world.refreshes.count == 1)
    }

    @Test("after a failure, each wait is half of the remaining time")
    func failures() {
        var world = connected(.seconds(16))
        var times: [Duration] = []
        while let due = world.machine.wakeUp, times.count < 10 {
            world.advance(by: due - world.now)
            times.append(world.now)
            world.answerRefresh(.failure(Self.refused))
            #expect(world.take().last == .announceRefreshFailed(Self.refused))
        }
        #expect(times == [8, 12, 14, 15, 15.5].map { .seconds($0) })
        // The server decides whether the connection ends.
        #expect(world.machine.state == .connected)
    }

    @Test("a refresh that succeeds after a failure has its whole lifetime")
    func recovery() {
        var world = connected(.seconds(10))
        world.advance(by: .seconds(5))
        world.answerRefresh(.failure(.test))
        world.advance(by: .milliseconds(2_500))
        world.answerRefresh(.success(.seconds(10)))
        world.advance(by: .seconds(5))
        #expect(world.refreshes.count == 3)
    }

    @Test("a call during a refresh needs another one, because the token may be older than the call")
    func queued() throws {
        var world = connected(nil)
        let calls = (0..<3).map { _ in world.refresh() }
        #expect(world.refreshes.count == 1)
        _ = world.take()
        world.answerRefresh(.success(.seconds(60)))
        #expect(
            world.take() == [
                .announceRefreshed(.seconds(60)), .finishRefresh(calls[0], .success(.seconds(60))),
                .refreshAuthentication(try #require(world.refreshes.last)),
            ]
        )
        world.answerRefresh(.failure(Self.refused))
        #expect(
            world.take() == [
                .announceRefreshFailed(Self.refused), .finishRefresh(calls[1], .failure(Self.refused)),
                .finishRefresh(calls[2], .failure(Self.refused)),
            ]
        )
        world.finishAll()
        #expect(world.violations == [])
    }

    @Test("an answer to the refresh of an earlier connection is ignored")
    func late() throws {
        var world = connected(.seconds(10))
        let call = world.refresh()
        let old = try #require(world.refreshes.last)
        _ = world.take()
        world.close()
        let actions = world.take()
        #expect(actions.contains(.cancelRefresh(old)))
        #expect(actions.contains(.finishRefresh(call, .failure(.test))))
        world.decide(.zero)
        world.advance(by: .zero)
        world.open(.longPolling.expiring(after: .seconds(10)))
        world.receiveHandshake()
        _ = world.take()
        world.refresh()
        _ = world.take()
        world.input { $0.refreshed(old, .success(.seconds(1)), now: $1) }
        #expect(world.take() == [])
        world.answerRefresh(.success(.seconds(10)))
        #expect(world.take().first == .announceRefreshed(.seconds(10)))
        #expect(world.refreshes.count == 2)
    }

    @Test("the refresh of a resumable connection continues during a loss, and after it")
    func resumption() {
        var world = connected(.seconds(10), .resumable)
        world.advance(by: .seconds(4))
        world.close()
        world.advance(by: .seconds(1))
        #expect(world.refreshes.count == 1)
        world.open(.resumable)
        world.receive(.sequence(1))
        world.answerRefresh(.success(.seconds(10)))
        world.advance(by: .seconds(5))
        #expect(world.refreshes.count == 2)
        #expect(world.machine.state == .connected)
    }

    @Test("without the option, only calls of the app refresh")
    func manual() {
        var world = connected(.seconds(10)) { $0.refreshesAuthentication = false }
        world.advance(by: .seconds(60))
        #expect(world.refreshes.isEmpty)
        world.refresh()
        world.answerRefresh(.failure(.test))
        world.refresh()
        world.answerRefresh(.success(.seconds(10)))
        world.advance(by: .seconds(60))
        #expect(world.refreshes.count == 2)
    }

    @Test("a refresh needs a connection, and a token that the app provides")
    func impossible() throws {
        func reason(_ world: inout World) throws -> String {
            _ = world.take()
            world.refresh()
            let action = try #require(world.take().first)
            guard case .finishRefresh(_, .failure(.signalR(.invalidOperation(let reason)))) = action else {
                Issue.record("\(action)")
                return ""
            }
            return reason
        }
        var world = World(reconnects: true)
        #expect(try reason(&world).hasSuffix("Call start() first."))
        world.connect()
        #expect(try reason(&world).contains("needs an accessTokenFactory"))
        world.close()
        #expect(try reason(&world).hasSuffix("the client is reconnecting. Call connected() first."))
        #expect(world.refreshes.isEmpty)
    }

    // MARK: The server's answers

    @Test(
        "reads the lifetime of a negotiation",
        arguments: [("9", 9), ("0", 0), ("1e9", nil), ("-1", nil), ("null", nil)] as [(String, Int?)]
    )
    func negotiation(number: String, seconds: Int?) throws {
        let body = #"{"connectionId":"x","tokenLifetimeSeconds":\#(number)}"#
        guard case .accepted(let negotiation) = try NegotiationAnswer(Array(body.utf8)) else {
            return #expect(Bool(false), "\(body)")
        }
        #expect(negotiation.tokenLifetime == seconds.map { .seconds($0) })
    }

    @Test("reads the answer to a refresh", arguments: [#"{"tokenLifetimeSeconds":60}"#, "{}", "", "<html>"])
    func answer(body: String) {
        #expect(AuthenticationRefresh.lifetime(Array(body.utf8)) == (body.contains("60") ? .seconds(60) : nil))
    }

    @Test(
        "the error names the reason of a refusal",
        arguments: [
            (401, "", "the server did not accept the new token."),
            (
                403, #"{"error":"user_changed"}"#,
                "the new token is of another user, or the server did not accept it (user_changed)."
            ),
            (
                404, #"{"error":"connection_not_found"}"#,
                "the server does not know the connection (connection_not_found)."
            ),
            (404, "", "the hub does not refresh tokens. Set EnableAuthenticationRefresh on the server."),
            (503, "busy", "the server answered with HTTP status 503."),
        ]
    )
    func refusal(status: Int, body: String, reason: String) {
        let error = AuthenticationRefresh.refusal(status: status, body: Array(body.utf8))
        #expect(error.message == "Authentication not refreshed: \(reason)")
        #expect(error.httpStatus == status)
        #expect((error.code == .authenticationRefreshRefused) == (status < 500))
    }

    @Test("the URL of a refresh has the hub's query")
    func url() {
        #expect(ConnectionURL.refresh("https://h/chat?room=1#x") == "https://h/chat/refresh?room=1")
        #expect(ConnectionURL.refresh("https://h/chat/") == "https://h/chat/refresh")
    }
}
