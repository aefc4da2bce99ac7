import Foundation
import TestTraits
import Testing

@testable import PusherClient
@testable import PusherCore

/// A document that promises something, with the promise. The behaviour has its own tests, which these words describe.
private struct Promise: CustomTestStringConvertible, Sendable {
    var path: String
    var phrases: [String]

    init(_ path: String, _ phrases: String...) { (self.path, self.phrases) = (path, phrases) }

    var testDescription: String { path }
}

@Suite("Promises of the documents", .limited)
struct DocumentWordsTests {
    private static let promises = [
        Promise(
            "SECURITY.md",
            "The decoded keys of encrypted channels are overwritten when they are no longer needed.",
            "the base64 text of a key in the endpoint's answer, and the texts that the app passes, stay in memory",
            "After a redirect, no authorization request goes to another origin.",
            "(`Accept`, `Cache-Control`, `Last-Event-ID`), and the fields that the app lists in `headersForOtherOrigins`. "
                + "No body goes there, and they leave `https` only if `allowsInsecureRedirects` is set."
        ),
        Promise(
            "Sources/ServerSentEvents/ServerSentEvents.docc/ServerSentEvents.md",
            "only `Accept`, `Cache-Control` and `Last-Event-ID`",
            "the body, after status 307 or 308 | is not sent",
            "a step from `https` to `http` | fails with ``EventStreamError/Code/redirectRefused``"
        ),
        Promise(
            "Sources/SignalRClient/SignalRClient.docc/SignalRClient.md",
            "not the token of your `accessTokenFactory`, no cookies, and only the header fields `Accept`, `Cache-Control` "
                + "and `Last-Event-ID`",
            "An answer that leads from `https` to `http` fails, unless ``HttpConnectionOptions/allowsInsecureRedirects`` is set."
        ),
        Promise(
            "Sources/PusherTestServer/Options/Options.swift",
            "The server answers each request of another page with status 403: WebSocket upgrades, and requests for the "
                + "authorization endpoints, the REST API and the HTTP transports."
        ),
    ]

    private static func text(of path: String) throws -> String {
        try String(contentsOf: SourceMessages.package.appendingPathComponent(path), encoding: .utf8)
            .replacing(/\n\s*\/\/\//, with: "\n")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test("a document says what is kept from other servers and other pages", arguments: promises)
    fileprivate func promise(promise: Promise) throws {
        let text = try Self.text(of: promise.path)
        for phrase in promise.phrases { #expect(text.contains(phrase), "\(phrase)") }
    }

    @Test("the article about blocked WebSockets quotes the error that names a proxy")
    func proxy() throws {
        let article = try Self.text(of: "Sources/PusherClient/PusherClient.docc/BlockedWebSockets.md")
        let quotation = "the request was not answered. A proxy may hold the answer back."
        #expect(article.contains("\"\(quotation)\""))
        let error = PusherClientError.noConnection(over: .httpStreaming, within: .seconds(4), isOpen: false)
        #expect(error.message.hasSuffix(quotation))
    }

    @Test("Troubleshooting explains each status of a channel that is connected, but gets no events")
    func noEvents() throws {
        let page = try Self.text(of: "Sources/PusherClient/PusherClient.docc/Troubleshooting.md")
        let section = try #require(page.components(separatedBy: "## Connected, but no events ").last)
        #expect(section.count < page.count)
        let source = try Self.text(of: "Sources/PusherCore/Subscription/SubscriptionStatus.swift")
        let cases = source.matches(of: /\bcase (\w+)/).map { String($0.1) }
        #expect(cases.count >= 5)
        for name in Set(cases) { #expect(section.contains("``SubscriptionStatus/\(name)"), "\(name)") }
    }
}
