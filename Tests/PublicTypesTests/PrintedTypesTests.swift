import TestSupport
import TestTraits
import Testing

/// Prints a value of every public type with every printing function of Swift. The values contain secrets wherever a
/// value of the type can contain one.
@Suite("Printing public types", .limited) struct PrintedTypesTests {
    /// The string that every invented secret contains.
    static let mark = "hush"
    /// A string that looks like a signature.
    static let signature = String(repeating: "0123456789abcdef", count: 4)

    private static func samples(of product: String) async throws -> [Any] {
        switch product {
        case "EventSourceTestServer": try await EventSourceTestServerSamples.make()
        case "PusherClient": PusherClientSamples.make()
        case "PusherObservation":
            if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) {
                await PusherObservationSamples.make()
            } else {
                []
            }
        case "PusherServerAPI": try PusherServerAPISamples.make()
        case "PusherTestServer": try PusherTestServerSamples.make()
        case "PusherVirtualTime": try await PusherVirtualTimeSamples.make()
        case "ServerSentEvents": try ServerSentEventsSamples.make()
        case "SignalRClient": try await SignalRClientSamples.make()
        case "SignalRTestServer": try await SignalRTestServerSamples.make()
        case "WebSocketClient": try await WebSocketClientSamples.make()
        default: []
        }
    }

    @Test("no printed value of a public type shows a secret", arguments: PublicTypes.products)
    func secrets(product: String) async throws {
        for value in try await Self.samples(of: product) {
            for form in PrintedForms.of(value) {
                let secret = Self.secret(in: form)
                #expect(secret == nil, "\(PublicTypes.name(of: value)) shows \(secret ?? ""): \(form.prefix(2_000))")
            }
        }
    }

    @Test("the test prints a value of every public type", arguments: PublicTypes.products)
    func completeness(product: String) async throws {
        let names = try PublicTypes.names(of: product)
        #expect(!names.isEmpty)
        let missing = names.subtracting(try await Self.samples(of: product).map(PublicTypes.name))
        #expect(missing.isEmpty, "add values of \(missing.sorted()) to the samples of \(product)")
    }

    @Test("the search finds secrets as text, as bytes and as signatures")
    func search() {
        struct Open {
            var secret: Any
        }
        for secret in ["token=hush", Array("a hush".utf8), Self.signature] as [Any] {
            let forms = PrintedForms.of(Open(secret: secret))
            #expect(forms.allSatisfy { Self.secret(in: $0) != nil }, "\(forms)")
        }
        #expect(Self.secret(in: "no secret: \(Self.signature.dropLast())") == nil)
    }

    private static let bytes = mark.utf8.map(String.init)

    private static func secret(in text: String) -> String? {
        if text.contains(mark) { return "'\(mark)'" }
        if text.contains(bytes.joined(separator: ", ")) || text.contains(bytes.joined(separator: "\n")) {
            return "the bytes of '\(mark)'"
        }
        return text.contains(/[0-9a-f]{64}/) ? "a signature" : nil
    }
}
