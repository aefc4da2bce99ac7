extension Duration {
    /// How long a test waits for an event that must happen. No event takes that long. But all tests run at once, on
    /// machines of every speed, and a limit that a slow one exceeds shows no defect.
    package static let patience = Duration.seconds(280)
}
