import Foundation
import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorTestSupport

@testable import ParlorAccounts
@testable import ParlorDelivery
@testable import ParlorGatewayEdge
@testable import ParlorMessaging
@testable import ParlorSecurity

extension FuzzTarget {
    private static let secret = Array("a secret of thirty-two bytes, at the least".utf8)
    private static let keys = JSONWebKeySet([.hs256(secret: secret)])
    private static let now = 1_800_000_000

    /// Access tokens: arbitrary bytes, valid tokens with changes, and arbitrary claims that are signed.
    /// Also refresh tokens.
    static let token = FuzzTarget(name: "token", maxLength: 1024) { input throws(FuzzFinding) in
        var input = FuzzInput(input)
        switch input.byte() % 4 {
        case 0: try checkUnsigned(String(decoding: input.all(), as: UTF8.self))
        case 1:
            let claims = AccessClaims(caller: Caller(id: "u1", username: "ada", firstName: nil), expiresAt: now + 60)
            let valid = JSONWebToken.sign(claims.json(issuedAt: now), with: .hs256(secret: secret))
            try checkUnsigned(changed(valid, &input))
        case 2: try checkSigned(input.all())
        default: try checkRefreshToken(&input)
        }
    }

    /// Checks that only the exact bytes that the key's owner signed are accepted.
    private static func checkUnsigned(_ token: String) throws(FuzzFinding) {
        let clock = ManualClock(Timestamp(milliseconds: now * 1000))
        _ = TokenVerifier(keys: keys, clock: clock, ended: EndedSessions()).verify(authorization: token)
        guard let claims = verify(token) else { return }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        let signature = Base64URL.encode(HMACSHA256.authenticate(signed, key: secret))
        try require(parts.count == 3 && parts[2] == signature, "an unsigned token is accepted: \(token)")
        try require((claims["exp"]?.double ?? 0) > Double(now), "an expired token is believed: \(token)")
    }

    private static func verify(_ token: String) -> JSONObject? {
        try? JSONWebToken.verify(token, keys: keys, at: now)  // nil: not believed
    }

    /// Returns the text with bytes replaced, removed or inserted.
    private static func changed(_ text: String, _ input: inout FuzzInput) -> String {
        var bytes = Array(text.utf8)
        while !input.isEmpty, !bytes.isEmpty {
            let (kind, value) = (input.byte(), input.byte())
            let at = (Int(input.byte()) << 8 | Int(input.byte())) % bytes.count
            switch kind % 4 {
            case 0: bytes[at] = value
            case 1: bytes.remove(at: at)
            case 2: bytes.insert(value, at: at)
            default: bytes[at] ^= 1 << (value & 7)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Checks that a signed token is accepted if, and only if, it is valid now and not too long. It is
    /// read without a trap.
    private static func checkSigned(_ bytes: [UInt8]) throws(FuzzFinding) {
        guard let claims = try? JSONValue(parsing: bytes) else { return }  // no claims
        let token = JSONWebToken.sign(claims, with: .hs256(secret: secret))
        let expiry = claims["exp"]?.double
        let start = claims["nbf"].map { $0.double ?? .infinity } ?? -.infinity
        let isGood =
            token.utf8.count <= JSONWebToken.maxLength && expiry.map { $0 > Double(now) } ?? false
            && start <= Double(now)
        let verified = verify(token)
        try require((verified != nil) == isGood, "believed: \(verified != nil), expected \(isGood): \(claims)")
        if let read = verified.flatMap(AccessClaims.init) {
            try require(read.caller.id == claims["sub"]?.string, "another caller: \(claims)")
        }
    }

    private static func checkRefreshToken(_ input: inout FuzzInput) throws(FuzzFinding) {
        if input.bool() {
            let token = RefreshToken(randomness: SeededRandomness(seed: input.number()))
            let text = changed(token.text, &input)
            guard let read = RefreshToken(text) else { return }
            try require(read.text == text, "two texts of one token")
            try require(
                text == token.text || read.hash != token.hash || read.sessionID != token.sessionID,
                "a changed token is the same")
        } else {
            let text = String(decoding: input.all(), as: UTF8.self)
            guard let read = RefreshToken(text) else { return }
            try require(read.text == text, "two texts of one token: \(text)")
        }
    }

    /// Clients' cursors, ours with changes and arbitrary texts; also password hashes and Base64 of
    /// arbitrary texts.
    static let cursor = FuzzTarget(name: "cursor", maxLength: 1024) { input throws(FuzzFinding) in
        var input = FuzzInput(input)
        let kind = input.byte()
        let codec = SyncCursorCodec(secret: secret)
        if kind & 1 == 0 {
            // A position from another process is below 2^53 (`JSONValue.logNumber`).
            let position = LogPosition(
                databaseID: String(decoding: input.chunk(), as: UTF8.self), seq: Int(input.number() >> 11),
                digest: Int(truncatingIfNeeded: input.number()))
            var cursor = SyncCursor(["rooms": position, "messaging": position])
            cursor.logs["rooms"]?.taken = Int(input.byte())
            let text = codec.encode(cursor, for: "ada")
            try require(
                codec.decode(text, for: "ada") == cursor || text.utf8.count > 8192, "a cursor is read as another")
            try require(codec.decode(text, for: "bob") == nil, "another's cursor is taken")
            let other = changed(text, &input)
            try require(other == text || codec.decode(other, for: "ada") == nil, "a changed cursor is taken: \(other)")
        } else {
            let text = String(decoding: input.all(), as: UTF8.self)
            try require(codec.decode(text, for: "ada") == nil, "a made-up cursor is accepted: \(text)")
            if let cursor = try? ConversationCursor(encoded: text) {  // nil: refused
                let again = try? ConversationCursor(encoded: cursor.encoded)
                try require(again == cursor, "the place \(cursor) is read as \(again.debugDescription)")
            }
            if let hash = PasswordHash(text) {
                try require(PasswordHash(hash.text)?.text == hash.text, "a hash: \(text)")
            }
            if let bytes = Base64.decode(text) {
                try require(
                    Base64.encode(bytes) == text && Data(base64Encoded: text).map(Array.init) == bytes,
                    "Base64: \(text)")
            }
            if let bytes = Base64URL.decode(text) { try require(Base64URL.encode(bytes) == text, "Base64URL: \(text)") }
        }
    }
}
