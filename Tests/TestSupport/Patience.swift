extension Duration {
    /// How long a test waits for what has to happen. Nothing takes that long; but all tests run at once, on machines of
    /// every speed, and a bound that is met on a slow one finds no fault.
    package static let patience = Duration.seconds(280)
}
