/// An error of this package, whose message other errors may contain.
package protocol ExplainedError: Error {
    var message: String { get }
}
