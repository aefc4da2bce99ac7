/// The id of a connection: two numbers with a dot between them.
package enum SocketID {
    package static func isValid(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { part in !part.isEmpty && part.allSatisfy { 0x30...0x39 ~= $0 } }
    }
}
