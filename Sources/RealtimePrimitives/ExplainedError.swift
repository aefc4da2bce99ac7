/// An error of this package, whose message may be part of that of another one.
package protocol ExplainedError: Error {
    var message: String { get }
}
