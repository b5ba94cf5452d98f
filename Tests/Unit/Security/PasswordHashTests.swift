import ParlorTestSupport
import Testing

@testable import ParlorSecurity

@Suite("Password hashes")
struct PasswordHashTests {
    private let randomness = SeededRandomness(seed: 5)

    @Test(
        "a password matches its own hash, read back from its text, and no other does",
        arguments: ["8 bytes!", "ééééé", "  spaces  ", "nul\0nul", String(repeating: "x", count: 128), ""])
    func matching(password: String) throws {
        let text = try PasswordHash(of: password, cost: .forTests, randomness: randomness).text
        let hash = try #require(PasswordHash(text))
        #expect(hash.text == text)
        #expect(try hash.matches(password))
        for other in [password + "x", "x" + password, password.uppercased() + "~"] {
            #expect(try !hash.matches(other))
        }
        #expect(try hash.matches("") == password.isEmpty)
    }

    @Test("the same password gets another salt, hence another hash")
    func salts() throws {
        let hashes = try (0..<20).map { _ in try PasswordHash(of: "same", cost: .forTests, randomness: randomness).text
        }
        #expect(Set(hashes).count == 20)
    }

    @Test("the standard cost is one of OWASP's, and a check without a person has the same parameters")
    func standardCost() throws {
        let hash = try PasswordHash(of: "secret", randomness: randomness)
        #expect(hash.text.hasPrefix("$scrypt$ln=14,r=8,p=5$"))
        #expect(try hash.matches("secret"))
        try PasswordHash.verifyAgainstNobody("secret")
    }

    @Test("a cheaper hash is checked with the missing work added")
    func oldCosts() throws {
        let before = PasswordHash.Cost(logN: 15, r: 8, p: 1)
        #expect(before.missing(to: .standard) == PasswordHash.Cost(logN: 14, r: 8, p: 3))
        #expect(PasswordHash.Cost(logN: 13, r: 8, p: 1).missing(to: .standard)?.p == 5)
        for cost in [PasswordHash.Cost.standard, .standard.times(2), PasswordHash.Cost(logN: 17, r: 8, p: 1)] {
            #expect(cost.missing(to: .standard) == nil)
        }
        let old = try PasswordHash(of: "secret", cost: .forTests, randomness: randomness)
        let dearer = PasswordHash.Cost.forTests.times(3)
        #expect(old.isCheaper(than: dearer))
        #expect(!old.isCheaper(than: .forTests))
        #expect(try old.matches("secret", takingAsLongAs: dearer))
        #expect(try !old.matches("secrets", takingAsLongAs: dearer))
        #expect(try old.matches("secret", takingAsLongAs: .forTests))
    }

    @Test("another program's hash is accepted")
    func knownAnswer() throws {
        // RFC 7914, section 12: password "pleaseletmein", salt "SodiumChloride", N = 2^14, r = 8, p = 1, 32 bytes.
        let salt = Base64.encode(Array("SodiumChloride".utf8)).prefix { $0 != "=" }
        let text = "$scrypt$ln=14,r=8,p=1$\(salt)$\(Self.rfcKey)"
        #expect(try #require(PasswordHash(text)).matches("pleaseletmein"))
        #expect(try !#require(PasswordHash(text)).matches("pleaseletmeout"))
    }

    private static let rfcKey: Substring = Base64.encode([
        0x70, 0x23, 0xBD, 0xCB, 0x3A, 0xFD, 0x73, 0x48, 0x46, 0x1C, 0x06, 0xCD, 0x81, 0xFD, 0x38, 0xEB,
        0xFD, 0xA8, 0xFB, 0xBA, 0x90, 0x4F, 0x8E, 0x3E, 0xA9, 0xB5, 0x43, 0xF6, 0x54, 0x5D, 0xA1, 0xF2,
    ]).prefix { $0 != "=" }

    @Test(
        "a text that is not a hash, or asks for too much memory, is refused",
        arguments: [
            "", "plain", "$scrypt$", "$argon2id$ln=4,r=8,p=1$c2FsdA$" + key, "$scrypt$ln=4,r=8$c2FsdA$" + key,
            "$scrypt$ln=18,r=8,p=1$c2FsdA$" + key, "$scrypt$ln=4,r=9999,p=1$c2FsdA$" + key,
            "$scrypt$ln=4,r=8,p=0$c2FsdA$" + key, "$scrypt$ln=-4,r=8,p=1$c2FsdA$" + key,
            "$scrypt$ln=x,r=8,p=1$c2FsdA$" + key, "$scrypt$ln=4,r=8,p=1$$" + key,
            "$scrypt$ln=4,r=8,p=1$c2FsdA==$" + key,
            "$scrypt$ln=4,r=8,p=1$c2FsdA$short", "$scrypt$ln=4,r=8,p=1$c2FsdA$" + key + "$",
            "$scrypt$ln=4,r=8,p=1,x=1$c2FsdA$" + key,
        ])
    func refuses(text: String) {
        #expect(PasswordHash(text) == nil)
    }

    private static let key = String(repeating: "A", count: 43)
}
