import Testing

@testable import ParlorHTTP

@Suite("Entity tags")
struct EntityTagTests {
    private func isNamed(_ fields: String...) -> Bool {
        var headers = HTTPHeaders()
        for field in fields { headers.add("If-None-Match", field) }
        return headers.ifNoneMatch(names: EntityTag("a,b"))
    }

    @Test(
        "a tag is found anywhere in a list, weak or not",
        arguments: [
            #""a,b""#, #"W/"a,b""#, #""x", "a,b""#, #""x",W/"y" ,"# + "\t" + #"W/"a,b","z""#, #",, "a,b""#, "*",
        ])
    func found(field: String) { #expect(isNamed(field)) }

    @Test(
        "a similar tag is another one",
        arguments: [
            "", "a,b", #""a"#, #""a,b"#, #""A,B""#, #"w/"a,b""#, #""a","b""#, #"x "a,b""#, #""*""#, #""x" y, "a,b""#,
        ])
    func notFound(field: String) { #expect(!isNamed(field)) }

    @Test("it may be in any of several fields, or in none")
    func fields() {
        #expect(isNamed(#""x""#, #""a,b""#))
        #expect(!isNamed())
    }

    @Test("a list is read up to its first kilobyte")
    func long() {
        let others = String(repeating: #""x","#, count: 300)
        #expect(isNamed(others.prefix(1000) + #""a,b""#))
        #expect(!isNamed(others + #""a,b""#))
    }

    @Test("it is written with its quotation marks") func text() { #expect(EntityTag("x").text == "\"x\"") }
}
