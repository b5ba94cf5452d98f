import ParlorSecurity
import ParlorTestSupport
import Testing

@Suite("Digests and encodings")
struct DigestTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test("SHA-1 and SHA-256 give their standards' examples")
    func digests() {
        #expect(hex(SHA1.hash("abc".utf8)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(hex(SHA1.hash([])) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(hex(SHA256.hash("abc".utf8)) == digest)
        #expect(hex(SHA256.hash(Array("xabc".utf8).dropFirst())) == digest)
        #expect(
            hex(SHA256.hash(repeatElement(UInt8(ascii: "a"), count: 1_000_000)))
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test("a WebSocket key is answered as RFC 6455 says")
    func webSocketKey() {
        let answer = SHA1.hash("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
        #expect(Base64.encode(answer) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("HMAC gives the examples of RFC 4231, and accepts an empty key and message")
    func hmac() {
        #expect(
            hex(HMACSHA256.authenticate("what do ya want for nothing?".utf8, key: Array("Jefe".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            hex(HMACSHA256.authenticate([], key: []))
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test(
        "Base64 gives the examples of RFC 4648, and decodes them",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func base64(plain: String, text: String) {
        #expect(Base64.encode(Array(plain.utf8)) == text)
        #expect(Base64.decode(text) == Array(plain.utf8))
        let unpadded = String(text.prefix { $0 != "=" })
        #expect(Base64URL.encode(Array(plain.utf8)) == unpadded)
        #expect(Base64URL.decode(unpadded) == Array(plain.utf8))
    }

    @Test("the two alphabets differ in two letters")
    func alphabets() {
        #expect(Base64.encode([0xFB, 0xFF]) == "+/8=")
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
        #expect(Base64.decode("-_8=") == nil)
        #expect(Base64URL.decode("+/8") == nil)
    }

    @Test(
        "text that the encoder would not write is refused",
        arguments: [
            "Zg", "Zg=", "Zg===", "Z===", "=", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm9vY", "Zm9é", "Z\0==",
        ])
    func strictBase64(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("both hold without padding", arguments: ["Z", "Zg==", "Zh", "Zm9vY", "Zm9v ", "Zm9=", "Zm9+"])
    func strictBase64URL(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("random bytes survive both, and random text is accepted only if it is what its bytes encode to")
    func fuzz() {
        let randomness = SeededRandomness(seed: 7)
        for length in 0..<300 {
            let bytes = randomness.bytes(length)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            let text = String(decoding: randomness.bytes(length % 9).map { $0 % 80 + 43 }, as: UTF8.self)
            if let decoded = Base64.decode(text) { #expect(Base64.encode(decoded) == text) }
            if let decoded = Base64URL.decode(text) { #expect(Base64URL.encode(decoded) == text) }
        }
    }

    @Test("secrets are equal when every byte is")
    func comparison() {
        #expect(constantTimeEquals([], []))
        #expect(constantTimeEquals([1, 2], [1, 2]))
        #expect(!constantTimeEquals([1, 2], [1, 3]))
        #expect(!constantTimeEquals([1, 2], [1, 2, 3]))
        #expect(!constantTimeEquals([1], []))
    }
}
