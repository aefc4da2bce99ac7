/// An error whose message can be part of another error's message.
package protocol ExplainedError: Error {
    var message: String { get }
}
