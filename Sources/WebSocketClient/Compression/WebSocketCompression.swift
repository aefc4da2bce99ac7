#if Compression
    /// The compression of messages (permessage-deflate, RFC 7692), for ``WebSocketOptions/compression``. The trait
    /// `Compression` of the package adds this type.
    ///
    /// The client offers compression, and the server decides. Without the server's consent, no message is compressed.
    /// Compression needs about 300 kB of memory for each connection, and much more CPU time than sending without it. Do not
    /// compress messages that contain both a secret and text of an attacker, because the size of such a message tells
    /// something about the secret.
    public struct WebSocketCompression: Hashable, Sendable {
        /// Whether the server may use earlier messages to compress a message, which needs more memory and less bandwidth.
        /// If `false`, the client requires that the server does not. Default: true.
        public var serverKeepsContext: Bool
        /// Whether the client uses earlier messages to compress a message, if the server allows it. Default: true.
        public var clientKeepsContext: Bool
        /// The base-2 logarithm of the size of the window with which the server compresses, from 8 to 15. For a value below
        /// 15, the client requires that the server's window is not larger. Default: 15, which is 32 KiB.
        public var serverWindowBits: Int
        /// The base-2 logarithm of the maximum size of the window with which the client compresses, from 8 to 15. The
        /// server can require a smaller window. Default: 15, which is 32 KiB.
        public var clientWindowBits: Int
        /// The effort of the compression, from 1 (fast) to 9 (small). Default: 6.
        public var level: Int
        /// The size in bytes from which the client compresses a message. The client sends smaller messages as they are.
        /// Default: 1,024.
        public var threshold: Int

        /// Creates options.
        public init(
            serverKeepsContext: Bool = true,
            clientKeepsContext: Bool = true,
            serverWindowBits: Int = 15,
            clientWindowBits: Int = 15,
            level: Int = 6,
            threshold: Int = 1_024
        ) {
            self.serverKeepsContext = serverKeepsContext
            self.clientKeepsContext = clientKeepsContext
            self.serverWindowBits = serverWindowBits
            self.clientWindowBits = clientWindowBits
            self.level = level
            self.threshold = threshold
        }
    }

    extension WebSocketCompression {
        /// Makes the value of the header field `Sec-WebSocket-Extensions`.
        package func offer() throws(WebSocketError) -> String {
            for (name, value, range) in [
                ("serverWindowBits", serverWindowBits, 8...15), ("clientWindowBits", clientWindowBits, 8...15),
                ("level", level, 1...9),
            ] where !range.contains(value) {
                throw WebSocketError(
                    .invalidOption,
                    "Invalid option compression.\(name): \(value) is not from \(range.lowerBound) to \(range.upperBound)."
                )
            }
            var parts = ["permessage-deflate"]
            if !serverKeepsContext { parts.append("server_no_context_takeover") }
            if !clientKeepsContext { parts.append("client_no_context_takeover") }
            if serverWindowBits < 15 { parts.append("server_max_window_bits=\(serverWindowBits)") }
            parts.append("client_max_window_bits" + (clientWindowBits < 15 ? "=\(clientWindowBits)" : ""))
            return parts.joined(separator: "; ")
        }
    }
#endif
