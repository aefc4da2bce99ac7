import ClientTestSupport
import PusherClient
import PusherProtocol
import TestSupport

/// Checks that no input ends the process. After each line of the input, the client has the timers and the channels that
/// its state requires. When the server works properly, the client becomes idle by itself. The client and the server
/// then agree about the subscriptions. At the end, the target calls `connect()`, `resubscribe()` and `signIn()`, and
/// checks that the client connects, subscribes and signs in. After `disconnect()`, the client keeps no work and no
/// memory.
///
/// Input: one command of ``ClientScript`` on each line.
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

    /// Checks that the client's state is consistent, and that a timer or an answer will change the state.
    private static func checkState(of world: ClientWorld, after line: [UInt8]) {
        guard let client = world.client else { return }
        let (machine, resources) = (client.engine.machine, client.engine.resources)
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
        demand(isRight, "the state \(state) does not match the status")
        let problem = TimerRules(machine.connection.state).problem(with: resources.timers)
        demand(problem == nil, problem ?? "")
        demand(resources.sockets.count <= 1, "the client has several sockets: \(resources.sockets)")
        demand(state != .connected || resources.sockets.count == 1, "the client has no socket")
        // Events that arrived before a refusal still wait for a listener.
        var others = resources
        others.holdsEvents = false
        if state == .disconnected { demand(others.isIdle, "the client still holds \(resources)") }
        demand(
            state == .connected || resources.authorizations == 0,
            "\(resources.authorizations) authorizations are still running"
        )
        demand(
            machine.connection.isWanted == world.wantsConnection || machine.connection.failure != nil,
            "the app wants a connection: \(world.wantsConnection)"
        )
        demand(machine.isSignInWanted == world.wantsSignIn, "the app wants a sign-in: \(world.wantsSignIn)")
        let known = Set(machine.wantedSubscriptions.map(\.name))
        demand(known == world.wanted, "the channels are \(known.sorted()), not \(world.wanted.sorted())")
        for channel in client.connection.channels.channels.values where channel.subscribed {
            demand(state == .connected, "\(channel.name) is subscribed without a connection")
        }
        checkServer(of: world, client, machine, after: line)
    }

    /// Checks that the client knows each subscription of the server.
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
