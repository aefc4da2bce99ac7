/// The data of events, which are orders of a shop in JSON.
public enum Payload {
    /// Returns data of exactly this many bytes: a list of orders, with a note that fills the rest.
    public static func json(size: Int) -> String {
        var text = #"{"orders":["#
        let end = #"],"note":""}"#
        var number = 1
        while true {
            let order = (number > 1 ? "," : "") + order(number)
            guard text.utf8.count + order.utf8.count + end.utf8.count <= size else { break }
            text += order
            number += 1
        }
        let filler = String(repeating: "lorem ipsum ", count: max(size / 12, 0) + 1)
        let rest = max(size - text.utf8.count - end.utf8.count, 0)
        return text + #"],"note":""# + filler.prefix(rest) + #""}"#
    }

    private static func order(_ number: Int) -> String {
        #"{"id":\#(10_000 + number),"customer":"Ada Lovelace","total":149.95,"isPaid":true}"#
    }

    /// The decoded data of ``json(size:)``.
    public struct Orders: Codable, Sendable {
        /// The orders.
        public let orders: [Order]
        /// A note about the orders.
        public let note: String
    }

    /// One order.
    public struct Order: Codable, Sendable {
        /// The order's number.
        public let id: Int
        /// The customer's name.
        public let customer: String
        /// The amount to pay.
        public let total: Double
        /// Whether the customer has paid.
        public let isPaid: Bool
    }
}

extension Payload {
    /// Returns an event as the server sends it. The data is a string that contains JSON.
    public static func envelope(event: String, channel: String, data: String) -> String {
        #"{"event":"\#(event)","channel":"\#(channel)","data":"\#(escaped(data))"}"#
    }

    /// Returns the text with the escapes of a JSON string.
    public static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 9 / 8)
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
