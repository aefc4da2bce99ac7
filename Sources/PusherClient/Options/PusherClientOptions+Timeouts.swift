extension PusherClientOptions {
    /// How long things may take.
    public typealias Timeouts = PusherTimeouts
}
