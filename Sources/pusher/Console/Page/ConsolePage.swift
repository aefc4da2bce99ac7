import Foundation
import PusherTestServer

/// The console's page, a document without external resources.
struct ConsolePage {
    let html: String
    /// The content security policy. It allows the page's own code and styles, requests to the page's origin, and `data:`
    /// images.
    let policy: String

    /// The script's settings, from the server.
    private struct Configuration: Encodable {
        let token: String
        let appID: String
        let key: String
        let host: String
        let port: Int
        let snippets: [ConsoleSnippet]
    }

    init(server: PusherTestServer, token: String) throws {
        let application = server.options.application
        let configuration = Configuration(
            token: token,
            appID: application.id,
            key: application.key,
            host: server.host.contains(":") ? "[\(server.host)]" : server.host,
            port: server.port,
            snippets: ConsoleSnippet.all(for: server)
        )
        let encoded = try JSONEncoder().encode(configuration)
        // A value with "</script>" must not end the script element.
        let json = String(decoding: encoded, as: UTF8.self).replacing("<", with: "\\u003c")
        let nonce = ConsoleAccess.makeToken()
        self.html = Self.document(nonce: nonce, configuration: json)
        self.policy = """
            default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; connect-src 'self'; \
            img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
            """
    }
}
