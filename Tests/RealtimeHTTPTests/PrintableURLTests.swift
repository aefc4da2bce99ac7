import RealtimeHTTP
import TestTraits
import Testing

@Suite("URLs in messages", .limited)
struct PrintableURLTests {
    @Test(
        "a printable URL has no user, password, query or fragment, even without percent-encoding",
        arguments: [
            ("https://example.com/a?b=@c#d", "https://example.com/a"),
            ("https://user:hidden@example.com/a", "https://example.com/a"),
            ("https://user:hid?den@example.com/", "https://…"), ("https://user:hid#den@example.com", "https://…"),
            ("https://example.com?mail=a@b", "https://…"), ("https://example.com?b", "https://example.com"),
            ("user:hidden@example.com/a", "example.com/a"), ("example.com/a", "example.com/a"),
            ("//user:hidden@example.com/a", "example.com/a"), ("https:/user:hidden@example.com", "example.com"),
            ("user:hid?den@example.com", "…"),
        ]
    )
    func printable(_ url: String, _ expected: String) { #expect(HTTPRequest.printable(url: url) == expected) }
}
