import ClientTestSupport
import PusherClient
import PusherProtocol
import TestSupport

/// No input ends the process. After each input the client has the timers and the channels of its state. When the server
/// behaves, the client comes to rest by itself, and both agree about its subscriptions. It connects and subscribes
/// again when it is told to. After `disconnect()` nothing is left, not even memory.
///
/// Input: lines, each a command: see ``ClientScript``.
enum ClientTarget {
    static func run(_ input: [UInt8]) {
        CapturedTasks.capturing { run(input, ClientWorld($0)) }
    }

    private static func run(_ input: [UInt8], _ world: ClientWorld) {
        world.connect()
        var script = ClientScript(world: world)
        var reader = InputReader(input)
        var count = 0
        while let line = reader.line(), count < 200 {
            count += 1
            script.run(line)
            world.settle()
            checkState(of: world, after: line)
        }
        ClientEnding(world: world).run()
    }

    /// Its state is consistent, and a timer or an answer will change it.
    private static func checkState(of world: ClientWorld, after line: [UInt8]) {
        guard let client = world.client else { return }
        let (machine, holdings) = (client.engine.machine, client.engine.holdings)
        let (state, status) = (client.connection.connectionState, client.connection.status)
        func demand(_ condition: Bool, _ message: @autoclosure () -> String) {
            require(condition, "\(message()), \(status), after \(line.text)")
        }
        let isRight =
            switch (state, status) {
            case (.connecting, .connecting), (.connecting, .unavailable), (.connected, .connected),
                (.reconnecting, .waiting), (.reconnecting, .connecting), (.disconnecting, .disconnecting),
                (.disconnected, .initialized), (.disconnected, .disconnected), (.disconnected, .refused):
                true
            default: false
            }
        demand(isRight, "it is \(state)")
        let problem = TimerRules(machine.connection.state).problem(with: holdings.timers)
        demand(problem == nil, problem ?? "")
        demand(holdings.sockets.count <= 1, "\(holdings.sockets) are the sockets")
        demand(state != .connected || holdings.sockets.count == 1, "there is no socket")
        if state == .disconnected { demand(holdings.isIdle, "\(holdings) goes on") }
        demand(state == .connected || holdings.authorizations == 0, "\(holdings.authorizations) authorizations go on")
        demand(
            machine.connection.isWanted == world.wantsConnection || machine.connection.failure != nil,
            "the last call asked for \(world.wantsConnection ? "a connection" : "none")"
        )
        demand(machine.isSignInWanted == world.wantsSignIn, "the last call asked for \(world.wantsSignIn)")
        let known = Set(machine.wantedSubscriptions.map(\.name))
        demand(known == world.wanted, "it has the channels \(known.sorted()), not \(world.wanted.sorted())")
        for channel in client.connection.channels.channels.values where channel.subscribed {
            demand(state == .connected, "\(channel.name) is subscribed")
        }
        checkServer(of: world, client, machine, after: line)
    }

    /// The server has no subscription that the client does not know.
    private static func checkServer(
        of world: ClientWorld,
        _ client: Pusher,
        _ machine: ClientStateMachine,
        after line: [UInt8]
    ) {
        guard world.attention == .answering, machine.connectionState == .connected,
            let server = world.network.current, server.isHeard
        else { return }
        let known = Set(machine.subscriptions.values.map(\.name))
        let forgotten = server.channels.subtracting(known)
        require(forgotten.isEmpty, "the server still has \(forgotten.sorted()) after \(line.text)")
    }
}
