import NIOCore
import PusherClient
import PusherProtocol

/// Whatever a server sends, the client never ends the process, never stands still without a timer or a reason, and is
/// connected and subscribed again as soon as the server behaves; after `disconnect()` nothing of it is left, and nothing
/// in memory after that.
///
/// Input: lines, each a command: see ``ClientScript``.
enum ClientTarget {
    static func run(_ input: [UInt8]) {
        let world = ClientWorld()
        world.client?.connect()
        var script = ClientScript(world: world)
        var reader = InputReader(input)
        var count = 0
        while let line = reader.line(), count < 200 {
            count += 1
            script.run(line)
            world.settle()
            checkState(of: world, after: line)
        }
        recover(world)
        end(world)
    }

    /// It is where it says it is, and something will bring it on.
    private static func checkState(of world: ClientWorld, after line: [UInt8]) {
        guard let client = world.client else { return }
        let (state, status, running) = (
            client.connection.connectionState, client.connection.status, client.engine.running
        )
        let isRight =
            switch (state, status) {
            case (.connecting, .connecting), (.connecting, .unavailable), (.connected, .connected),
                (.reconnecting, .waiting), (.reconnecting, .connecting), (.disconnecting, .disconnecting),
                (.disconnected, .initialized), (.disconnected, .disconnected), (.disconnected, .refused):
                true
            default: false
            }
        require(isRight, "\(state) is \(status) after \(line.text)")
        require(state == .disconnected || running.timers > 0, "\(status) has no timer after \(line.text)")
        require(state != .connected || running.sockets == 1, "\(running.sockets) sockets after \(line.text)")
        require(running.sockets <= 1, "\(running.sockets) sockets after \(line.text)")
        if case .disconnected = status { require(running == .nothing, "\(running) while \(status)") }
        if case .refused = status { require(running == .nothing, "\(running) while \(status)") }
        for channel in client.connection.channels.channels.values where channel.subscribed {
            require(state == .connected, "\(channel.name) is subscribed while \(status)")
        }
    }

    /// The server is a good one from now on.
    private static func recover(_ world: ClientWorld) {
        world.isAnswering = true
        world.isGreeting = true
        world.network.refusals = 0
        world.requester.forgetAnswers()
        for server in world.network.servers { server.end() }
        world.settle()
        world.client?.connect()
        for _ in 0..<40 where !isRecovered(world) { world.advance(seconds: 1) }
        guard let client = world.client else { return }
        require(client.connection.connectionState == .connected, "it is stuck: \(client.connection.status)")
        require(isRecovered(world), "not all of \(world.wanted) are subscribed again")
        let unwanted = client.connection.channels.channels.keys.filter { !world.wanted.contains($0) }
        require(unwanted.isEmpty, "\(unwanted) are still there")
    }

    private static func isRecovered(_ world: ClientWorld) -> Bool {
        guard let connection = world.client?.connection, connection.connectionState == .connected else { return false }
        let names = world.wanted.filter { (try? ChannelName($0)) != nil }
        return names.allSatisfy { connection.channels.find(name: $0)?.subscribed == true }
    }

    private static func end(_ world: ClientWorld) {
        world.client?.disconnect()
        world.advance(seconds: 5)
        if let client = world.client {
            require(
                client.connection.connectionState == .disconnected,
                "after disconnect(): \(client.connection.status)"
            )
            require(client.engine.running == .nothing, "after disconnect(): \(client.engine.running)")
        }
        require(world.network.servers.isEmpty, "after disconnect() a socket is open")
        weak let engine = world.client?.engine
        world.drop()
        world.settle()
        require(engine == nil, "the client is not freed")
        require(world.requester.isShutDown, "the requester is not shut down")
    }
}
