import ParlorJSON
import ParlorSecurity
import ParlorTestSupport
import Testing

@Suite("Tokens")
struct JSONWebTokenTests {
    private let key = JSONWebKey.hs256(secret: Array("a secret of thirty-two bytes, and more".utf8))
    private var keys: JSONWebKeySet { JSONWebKeySet([key]) }
    private let claims = JSONWriter.object {
        $0.member("sub", "alice")
        $0.member("exp", 1000)
    }

    /// Returns a token of any header and claims, signed as the key would.
    private func token(header: String, claims: String) -> String {
        let message = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))"
        let secret = Array("a secret of thirty-two bytes, and more".utf8)
        return "\(message).\(Base64URL.encode(HMACSHA256.authenticate(Array(message.utf8), key: secret)))"
    }

    private func error(_ token: String, at now: Int = 999) -> JSONWebTokenError? {
        do throws(JSONWebTokenError) {
            _ = try JSONWebToken.verify(token, keys: keys, at: now)
            return nil
        } catch {
            return error
        }
    }

    @Test("a signed token is valid until it expires, and no longer")
    func expiry() throws {
        let token = JSONWebToken.sign(claims, with: key)
        #expect(try JSONWebToken.verify(token, keys: keys, at: 999)["sub"]?.string == "alice")
        #expect(error(token, at: 1000) == .expired)
        #expect(error(token, at: .max) == .expired)
    }

    @Test("the example of RFC 7515, appendix A.1, is valid")
    func knownAnswer() throws {
        let secret = try #require(
            Base64URL.decode(
                "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"))
        let token =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
            + "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
            + "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let keys = JSONWebKeySet([.hs256(secret: secret)])
        #expect(try JSONWebToken.verify(token, keys: keys, at: 1_300_819_379)["iss"]?.string == "joe")
    }

    @Test(
        "any other algorithm is refused, whoever signed",
        arguments: ["none", "None", "NONE", "", "hs256", "HS384", "HS512", "RS256", "ES256", "HS256 "])
    func algorithms(name: String) {
        #expect(error(token(header: #"{"alg":"\#(name)"}"#, claims: #"{"exp":1000}"#)) == .unknownKey)
        let unsigned =
            Base64URL.encode(Array(#"{"alg":"\#(name)"}"#.utf8)) + "." + Base64URL.encode(Array(claims.bytes)) + "."
        #expect(error(unsigned) == .unknownKey)
    }

    @Test("a token of another key, or changed anywhere, is refused")
    func tampering() {
        let token = JSONWebToken.sign(claims, with: key)
        let other = JSONWebKey.hs256(secret: Array(repeating: 7, count: 32))
        #expect(error(JSONWebToken.sign(claims, with: other)) == .badSignature)
        let bytes = Array(token.utf8)
        for at in bytes.indices {
            for change in [UInt8(ascii: "A"), UInt8(ascii: "."), UInt8(ascii: "="), 0x20, 0xC3]
            where bytes[at] != change {
                var changed = bytes
                changed[at] = change
                #expect(error(String(decoding: changed, as: UTF8.self)) != nil)
            }
            #expect(error(String(decoding: bytes[..<at], as: UTF8.self)) != nil)
        }
        for changed in [token + ".", "." + token, token + "A", token + "=", " " + token, token + "\n"] {
            #expect(error(changed) != nil)
        }
    }

    @Test(
        "claims without a valid time, and headers with unknown requirements, are refused",
        arguments: [
            (#"{"alg":"HS256"}"#, #"{}"#), (#"{"alg":"HS256"}"#, #"{"exp":"1000"}"#),
            (#"{"alg":"HS256"}"#, #"{"exp":null}"#),
            (#"{"alg":"HS256"}"#, #"{"exp":1e400}"#), (#"{"alg":"HS256"}"#, #"[]"#), (#"{"alg":"HS256"}"#, "x"),
            (#"{"alg":"HS256","crit":["b64"]}"#, #"{"exp":1000}"#), (#"{"alg":5}"#, #"{"exp":1000}"#),
            (#"{}"#, #"{"exp":1000}"#), (#"{"alg":"HS256"}"#, #"{"exp":1000,"nbf":"x"}"#),
        ])
    func malformed(header: String, claims: String) {
        #expect(error(token(header: header, claims: claims)) == .malformed)
    }

    @Test("a token with a long header is refused before the header is parsed")
    func longHeader() {
        func header(_ letters: Int) -> String { #"{"alg":"HS256","x":"\#(String(repeating: "x", count: letters))"}"# }
        #expect(error(token(header: header(700), claims: #"{"exp":1001}"#)) == nil)
        #expect(error(token(header: header(800), claims: #"{"exp":1001}"#)) == .malformed)
    }

    @Test("a token that is not valid yet is refused, and fractions of a second are accepted")
    func times() {
        let header = #"{"alg":"HS256"}"#
        #expect(error(token(header: header, claims: #"{"exp":1000.5,"nbf":999}"#), at: 1000) == nil)
        #expect(error(token(header: header, claims: #"{"exp":1000,"nbf":999}"#), at: 998) == .notYetValid)
    }

    @Test("a key is found by its id, and a token with an unknown id is refused")
    func keyIDs() throws {
        let (old, new) = (
            JSONWebKey.hs256(secret: Array(repeating: 1, count: 32), id: "old"),
            JSONWebKey.hs256(secret: Array(repeating: 2, count: 32), id: "new")
        )
        let both = JSONWebKeySet([new, old])
        for key in [old, new] {
            #expect(
                try JSONWebToken.verify(JSONWebToken.sign(claims, with: key), keys: both, at: 0)["sub"]?.string
                    == "alice")
        }
        #expect(throws: JSONWebTokenError.unknownKey) {
            try JSONWebToken.verify(JSONWebToken.sign(claims, with: old), keys: JSONWebKeySet([new]), at: 0)
        }
    }

    @Test("a malformed token of any length is refused")
    func garbage() {
        for text in ["", ".", "..", "...", "a.b.c", String(repeating: "a", count: 100_000), "é.é.é", "\0.\0.\0"] {
            #expect(error(text) == .malformed)
        }
        let randomness = SeededRandomness(seed: 2)
        for length in 0..<500 {
            let letters = randomness.bytes(length % 60).map { $0 % 8 == 0 ? UInt8(ascii: ".") : $0 % 75 + 48 }
            #expect(error(String(decoding: letters, as: UTF8.self)) != nil)
        }
    }
}
