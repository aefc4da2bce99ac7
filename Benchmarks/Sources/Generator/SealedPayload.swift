import Foundation
import SodiumReference
import Workload

/// The data of events on encrypted channels.
enum SealedPayload {
    static func data(_ text: String) -> String {
        let sealed = SealedBytes.seal(text)
        let nonce = Data(sealed.nonce).base64EncodedString()
        let ciphertext = Data(sealed.ciphertext).base64EncodedString()
        return #"{"nonce":"\#(nonce)","ciphertext":"\#(ciphertext)"}"#
    }
}
