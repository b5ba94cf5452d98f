import HTTP
import Security

/// What ties a request's log lines together, over all services.
enum RequestID {
    static let header = "X-Request-Id"
    private static let maxLength = 128

    /// The caller's, if it is harmless in a log and a header, or a new one.
    static func of(_ request: HTTPRequest?, randomness: any Randomness) -> String {
        guard let given = request?.headers[header], (1...maxLength).contains(given.utf8.count),
            given.utf8.allSatisfy(isSane)
        else { return Base64URL.encode(randomness.bytes(12)) }
        return given
    }

    private static func isSane(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
