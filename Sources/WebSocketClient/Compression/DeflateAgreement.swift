#if Compression
    /// The parameters on which client and server have agreed (RFC 7692, section 7.1).
    package struct DeflateAgreement: Hashable, Sendable {
        /// The reason why the client cannot accept a server's answer.
        package struct Refusal: Error, Hashable, Sendable {
            package let reason: String
        }

        package var serverKeepsContext: Bool
        package var clientKeepsContext: Bool
        package var serverWindowBits: Int
        package var clientWindowBits: Int

        /// Reads a server's answer to an offer. The result is nil if the server uses no extension.
        ///
        /// - Parameter answer: The values of the header fields `Sec-WebSocket-Extensions`.
        package init?(_ answer: [String], to offer: WebSocketCompression) throws(Refusal) {
            let extensions = answer.flatMap { Self.parts($0, separator: ",") }.filter { !$0.isEmpty }
            guard let first = extensions.first else { return nil }
            guard extensions.count == 1 else { throw Refusal(reason: "it uses several extensions") }
            let parts = Self.parts(first, separator: ";")
            guard parts.first == "permessage-deflate" else {
                throw Refusal(reason: "it uses an extension that was not offered")
            }
            var seen: Set<String> = []
            (serverKeepsContext, clientKeepsContext) = (true, offer.clientKeepsContext)
            (serverWindowBits, clientWindowBits) = (15, offer.clientWindowBits)
            for part in parts.dropFirst() {
                let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let name = pair[0].trimmingHTTPWhitespace
                guard seen.insert(name).inserted else {
                    throw Refusal(reason: "a parameter of its permessage-deflate is repeated")
                }
                let value = pair.count > 1 ? pair[1].trimmingHTTPWhitespace : nil
                switch (name, value) {
                case ("server_no_context_takeover", nil): serverKeepsContext = false
                case ("client_no_context_takeover", nil): clientKeepsContext = false
                case ("server_max_window_bits", let value?): serverWindowBits = try Self.windowBits(value)
                case ("client_max_window_bits", let value?):
                    clientWindowBits = min(clientWindowBits, try Self.windowBits(value))
                default: throw Refusal(reason: "it has an invalid parameter of permessage-deflate")
                }
            }
            guard offer.serverKeepsContext || !serverKeepsContext, serverWindowBits <= offer.serverWindowBits else {
                throw Refusal(reason: "it uses permessage-deflate without the limits that the client requires")
            }
        }

        private static func windowBits(_ value: String) throws(Refusal) -> Int {
            // A value may be quoted (RFC 6455, section 9.1). Leading zeros are not allowed.
            let isQuoted = value.count > 1 && value.first == "\"" && value.last == "\""
            let digits = isQuoted ? String(value.dropFirst().dropLast()) : value
            guard let bits = Int(digits), (8...15).contains(bits), digits == String(bits) else {
                throw Refusal(reason: "the size of its window of permessage-deflate is invalid")
            }
            return bits
        }

        private static func parts(_ text: String, separator: Character) -> [String] {
            text.split(separator: separator, omittingEmptySubsequences: false).map(\.trimmingHTTPWhitespace)
        }
    }
#endif
