package import NIOSSL

/// The fields of a certificate (RFC 5280, 4.1). The client uses them in error messages, and to check host names more
/// strictly than NIO does. The type verifies no signatures.
package struct CertificateFields: Hashable, Sendable {
    /// The issuer's name, in DER.
    package var issuer: [UInt8]
    /// The subject's name, in DER.
    package var subject: [UInt8]
    /// The issuer's common name, shortened for a log.
    package var issuerName: String?
    /// Whether servers may use the certificate. Its list of purposes contains servers or any purpose, or there is no
    /// list.
    package var isForServers: Bool
    /// The host names among the alternative names, in lower case. Nil if the certificate has no alternative names.
    package var hostNames: [String]?

    package init?(_ certificate: NIOSSLCertificate) {
        guard let bytes = try? certificate.toDERBytes() else { return nil }
        self.init(der: bytes)
    }

    package static func subject(of certificate: NIOSSLCertificate) -> [UInt8]? { Self(certificate)?.subject }

    /// Parses a certificate. The result is nil if the bytes are not a certificate.
    package init?(der bytes: [UInt8]) {
        var outside = DERReader(bytes[...])
        guard var certificate = outside.reader(DERReader.sequence),
            var fields = certificate.reader(DERReader.sequence)
        else { return nil }
        // Certificates of version 1 have no version field, so the code skips the field only if it is present.
        var serialNumber = fields.next()
        if serialNumber?.tag == 0xA0 { serialNumber = fields.next() }
        guard serialNumber != nil, fields.next() != nil, let issuer = fields.next(), fields.next() != nil,
            let subject = fields.next(), issuer.tag == DERReader.sequence, subject.tag == DERReader.sequence
        else { return nil }
        self.issuer = Array(issuer.whole)
        self.subject = Array(subject.whole)
        issuerName = Self.commonName(issuer.content)
        isForServers = true
        while let field = fields.next() {
            guard field.tag == 0xA3 else { continue }
            readExtensions(field.content)
        }
    }

    /// Whether a name in ``hostNames`` is this host, or matches the host with an asterisk as its first label (RFC 9525,
    /// 6.3).
    package func isFor(host: String) -> Bool {
        let host = host.lowercased()
        let domain = host.firstIndex(of: ".").map { host[$0...] }
        return hostNames?.contains { name in
            name == host || (name.hasPrefix("*.") && domain.map { name.dropFirst() == $0 } == true)
        } ?? false
    }

    private static let commonNameType: [UInt8] = [0x55, 0x04, 0x03]
    private static let alternativeNamesType: [UInt8] = [0x55, 0x1D, 0x11]
    private static let extendedKeyUsageType: [UInt8] = [0x55, 0x1D, 0x25]
    private static let anyPurpose: [UInt8] = [0x55, 0x1D, 0x25, 0x00]
    private static let serverAuthentication: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01]
    private static let longestName = 64

    private static func commonName(_ name: ArraySlice<UInt8>) -> String? {
        var sets = DERReader(name)
        while let set = sets.next() {
            var attributes = DERReader(set.content)
            while var attribute = attributes.reader(DERReader.sequence) {
                guard let type = attribute.next(), let value = attribute.next(),
                    type.content.elementsEqual(commonNameType)
                else { continue }
                let text = String(decoding: value.content, as: UTF8.self)
                // The client logs the name in quotes, so the name must not contain line breaks or quotation marks.
                let isHarmless = { (character: Character) in
                    character.isLetter || character.isNumber || " .-_*".contains(character)
                }
                return String(text.prefix(longestName).map { isHarmless($0) ? $0 : "?" })
            }
        }
        return nil
    }

    private mutating func readExtensions(_ bytes: ArraySlice<UInt8>) {
        var wrapper = DERReader(bytes)
        guard var list = wrapper.reader(DERReader.sequence) else { return }
        while var item = list.reader(DERReader.sequence) {
            guard let type = item.next()?.content else { continue }
            // A flag for critical extensions can come before the value, so the code uses the last element.
            var last: DERReader.Element?
            while let next = item.next() { last = next }
            guard let last else { continue }
            var octets = DERReader(last.content)
            guard let value = octets.reader(DERReader.sequence) else { continue }
            if type.elementsEqual(Self.extendedKeyUsageType) { readPurposes(value) }
            if type.elementsEqual(Self.alternativeNamesType) { readNames(value) }
        }
    }

    private mutating func readPurposes(_ purposes: DERReader) {
        let purposes = purposes.elements.map { Array($0.content) }
        isForServers = purposes.contains(Self.serverAuthentication) || purposes.contains(Self.anyPurpose)
    }

    private mutating func readNames(_ names: DERReader) {
        // 0x82 is the tag of host names.
        hostNames = names.elements.filter { $0.tag == 0x82 }.map { name in
            String(decoding: name.content, as: UTF8.self).lowercased()
        }
    }
}

/// Reads elements of DER (X.690) one after the other.
package struct DERReader: Sendable {
    package struct Element: Sendable {
        package var tag: UInt8
        package var content: ArraySlice<UInt8>
        /// The bytes of the element, with tag and length.
        package var whole: ArraySlice<UInt8>
    }

    package static let sequence: UInt8 = 0x30

    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Returns the next element. The result is nil at the end, and if the element is incomplete. The result is also nil
    /// if the tag or the length has more bytes than in certificates.
    package mutating func next() -> Element? {
        var head = rest
        guard let tag = head.popFirst(), tag & 0x1F != 0x1F, let first = head.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...3).contains(count), head.count >= count else { return nil }
            length = head.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            head = head.dropFirst(count)
        }
        guard head.count >= length else { return nil }
        let element = Element(tag: tag, content: head.prefix(length), whole: rest[..<(head.startIndex + length)])
        rest = head.dropFirst(length)
        return element
    }

    /// All elements that the reader has not read yet.
    package var elements: [Element] {
        var (reader, found) = (self, [Element]())
        while let element = reader.next() { found.append(element) }
        return found
    }

    /// Reads the next element, and returns a reader for its content; nil if the element has another tag.
    package mutating func reader(_ tag: UInt8) -> DERReader? {
        guard let element = next(), element.tag == tag else { return nil }
        return DERReader(element.content)
    }
}
