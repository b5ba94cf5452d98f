import ParlorClient
import Testing

@Suite("A message's text")
struct MessageTextTests {
    @Test("its length is counted in Unicode scalars, without the white space around it")
    func length() {
        #expect(MessageText.count(of: " \n ab \t") == 2)
        #expect(MessageText.count(of: "👍🏽e\u{301}") == 4)
        #expect(!MessageText.canBeSent(" ") && MessageText.canBeSent("a"))
        #expect(MessageText.canBeSent(String(repeating: "a", count: 4_000) + " "))
        #expect(!MessageText.canBeSent(String(repeating: "a", count: 4_001)))
    }

    private func links(_ text: String) -> [String] { MessageItem.links(in: text).map { String(text[$0.range]) } }

    // The same texts as in Tests/Web/page.test.mjs, which has e-mail addresses beside them.
    @Test("addresses are links, without what belongs to the sentence around them, and nothing else is")
    func links() {
        let foo = "https://en.wikipedia.org/wiki/Foo_(bar)"
        let around = ["X", "(X)", "see X.", "see (X), then", "„X“", "»X«", "‚X‘", "*X*", "‹X›", "<X>"]
        for around in around { #expect(links(around.replacing("X", with: foo)) == [foo], "\(around)") }
        #expect(links("(https://example.org/a) HTTP://b.example\nx") == ["https://example.org/a", "HTTP://b.example"])
        #expect(links("https://ada@example.org/ and https://example.org/@ada").count == 2)
        for none in [
            "javascript:alert(1)", "data:text/html,x", "www.", "awww.x", "foo.www.example.com", "äwww.example.com",
            "www..com", "https://", "ftp://example.org/x", "www.a.b@c.de", "file:///etc/passwd",
        ] { #expect(links(none).isEmpty, "\(none)") }
    }

    @Test("a link's URL has a protocol and a host, and only characters that a URL may have")
    func urls() throws {
        let urls = MessageItem.links(in: "www.example.com, and https://example.org/ä\u{202e}?q=\u{1b}").map(\.url)
        #expect(urls.map(\.scheme) == ["https", "https"])
        #expect(urls.map { $0.host() } == ["www.example.com", "example.org"])
        for url in urls { #expect(url.absoluteString.utf8.allSatisfy { (0x21..<0x7f).contains($0) }) }
    }

    @Test("long texts without spaces take little time")
    func long() {
        for part in ["a", "h", "http://", "www.(", "https://)"] {
            _ = links(String(repeating: part, count: 20_000 / part.count))
        }
    }
}
