import Testing

@testable import ParlorAccounts

@Suite("Names and addresses")
struct NamesTests {
    @Test(
        "a first name may use any script, with the joiners and signs that it needs",
        arguments: [
            " Zoë  M. 🎉 ", "Ḿ̂ax", "O’Brien-Łuçkà", "王小明", "葛\u{E0100}城", "김철수", "אַבְרָהָם", "محمد", "مه\u{200C}دی",
            "نما\u{200D}ی", "क्\u{200D}ष", "क्\u{200C}षमा", "শ্রীর\u{200D}্য", "ක්\u{200D}රිෂ්", "ᠮᠣᠩᠭᠣᠯ\u{180B}",
            "👩\u{200D}👩\u{200D}👧\u{200D}👦", "🏳\u{FE0F}\u{200D}🌈", "👍🏽", "👩🏽\u{200D}⚕\u{FE0F}", "❤\u{FE0F}",
            "1\u{FE0F}\u{20E3}",
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "🧔\u{200D}♂\u{FE0F}",
            "☂\u{FE0E}", "©\u{FE0F}", "羽\u{FE00}", "🏴\u{E0075}\u{E0073}\u{E0063}\u{E0061}\u{E007F}\u{200D}❤",
        ])
    func firstNames(name: String) throws {
        #expect(try FirstName(name).text == name)
    }

    @Test(
        "a name cannot contain characters that break the line, reverse the text or are invisible",
        arguments: [
            "a\nb", "a\rb", "a\tb", "\u{202E}ecilA", "a\u{202A}b", "a\u{202C}", "\u{2066}a\u{2069}", "a\u{200E}",
            "\u{200F}a",
            "\u{61C}a", "Alice\u{200B}", "Al\u{200D}ice", "Al\u{200C}ice", "Alice\u{200D}", "\u{200D}", "م\u{200C}",
            "م\u{200C}\u{200C}م",
            "م\u{200C}a", "🎉\u{200D}", "🎉\u{200D}a", "1\u{200D}2", "a\u{2060}b", "a\u{FEFF}", "a\u{AD}b", "a\u{34F}b",
            "a\u{2028}b", "a\u{2029}b", "\u{3164}", "\u{115F}", "a\u{17B4}", "\u{FE0F}a", "a\u{FE0F}\u{FE0F}",
            "A\u{FE00}da", "A\u{FE0F}da", "é\u{E0100}", "Ada1\u{FE0F}", "1\u{FE00}\u{20E3}", "O\u{180B}", "☂\u{FE01}",
            "김\u{E0100}", "王\u{180B}", "王\u{FE0F}", "ᠮ\u{FE00}", "❤\u{FE0F}\u{FE0F}", "王\u{E0100}\u{E0100}",
            "🏴\u{E0067}\u{E0062}\u{E0065}", "🏴\u{E007F}", "🏴\u{E0067}\u{E0062}\u{E007F}",
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}a", "🏴\u{E0020}\u{E0062}\u{E0065}\u{E007F}",
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E0067}\u{E0067}\u{E007F}",
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E007F}\u{E007F}", "🏴\u{E0067}\u{E0062}\u{E0065}\u{200D}❤",
            "a\u{E0061}", "a\u{FFF9}b", "a\u{FFFE}", "a\u{1D173}b", "a\u{85}",
        ])
    func hiddenNames(name: String) {
        #expect(throws: (any Error).self) { try FirstName(name) }
    }

    @Test("a first name has at most 100 characters")
    func longNames() throws {
        _ = try FirstName(String(repeating: "é", count: 100))
        #expect(throws: (any Error).self) { try FirstName(String(repeating: "é", count: 101)) }
    }

    @Test(
        "an e-mail address is a dot-atom at a host",
        arguments: [
            "a@b.cd", "A.b+c_d-e@Example.ORG", "o'brien@mail.example.org", "x@xn--bcher-kva.example", "1@2.a3",
            String(repeating: "a", count: 64) + "@" + String(repeating: "b", count: 63) + ".org",
        ])
    func addresses(address: String) throws {
        #expect(try EmailAddress(address).text == address)
    }

    @Test(
        "an invalid address is refused, and so is one that looks like another's",
        arguments: [
            "a@b", "a.@b.cd", ".a@b.cd", "a..b@c.de", "a@-b.cd", "a@b-.cd", "a@b.c_d", "a@b.1", "a@[127.0.0.1]",
            "\"a b\"@c.de", "<script>@x.yz", "a(b)@c.de", "a,b@c.de", "a@b.cd\n", "a@b.cd\u{200B}", "a\u{202E}@b.cd",
            "a@\u{212A}.com", "é@x.yz", "e\u{301}@x.yz", "а@b.cd", "a@b\u{3002}cd", "a@@b.cd", "a@b.cd@e.fg",
            String(repeating: "a", count: 65) + "@b.cd", "a@" + String(repeating: "b", count: 64) + ".cd",
        ])
    func noAddresses(address: String) {
        #expect(throws: (any Error).self) { try EmailAddress(address) }
    }
}
