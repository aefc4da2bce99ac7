/// Every object that the application has holds the engine, and the engine knows the secrets.
extension ClientEngine: CustomReflectable {
    /// Nothing, for `dump`.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
