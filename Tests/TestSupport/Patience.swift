extension Duration {
    /// The time limit for an event that must happen. Events usually take much less time. But all tests run at once, on
    /// machines of every speed, and a timeout on a slow machine shows no defect.
    package static let patience = Duration.seconds(280)
}
