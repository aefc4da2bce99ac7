import ArgumentParser
import PusherTestServer

/// The options of `pusher serve` that play a recording back.
struct ReplayOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Play a recording of pusher listen --record back, once, from the moment when a client has subscribed to one of \
            its channels.
            """,
            valueName: "file"
        )
    )
    var replay: String?

    @Option(help: ArgumentHelp("How many times as fast as in the recording. Default: 1.", valueName: "factor"))
    var speed: Double?

    func validate() throws {
        guard let speed else { return }
        guard replay != nil else { throw ValidationError("--speed needs --replay.") }
        guard PusherTestServer.replaySpeeds.contains(speed) else {
            throw ValidationError("--speed takes a number from 0.001 to 1000000.")
        }
    }

    func recording() throws -> PusherTestServer.Recording? {
        do {
            return try replay.map { try PusherTestServer.Recording(contentsOfFile: $0) }
        } catch let error as PusherTestServer.ServerError {
            throw ExitMessage(error.message)
        }
    }

    /// Plays the recording, and then waits until the task is cancelled.
    func play(_ recording: PusherTestServer.Recording, on server: PusherTestServer) async throws {
        if !recording.events.isEmpty {
            try await server.waitForSubscription(toAnyChannelOf: recording, timeout: nil)
            try printLine("replaying \(recording.events.count) events")
            try await server.replay(recording, speed: speed ?? 1)
            try printLine("replayed")
        }
        for await _ in server.recordSequence {}
    }
}
