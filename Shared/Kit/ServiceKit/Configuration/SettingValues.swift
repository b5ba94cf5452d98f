import Contracts

/// A limit for each person and each address.
public struct Rate: Sendable, Equatable {
    public let perPerson: Int
    public let perAddress: Int
    public let personWindow: Duration
    public let addressWindow: Duration

    public init(perPerson: Int, perAddress: Int, window: Duration) {
        self.perPerson = perPerson
        self.perAddress = perAddress
        personWindow = window
        addressWindow = window
    }

    public init?(setting value: String) {
        let parts = value.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.split(separator: "/", omittingEmptySubsequences: false)
        }
        guard parts.count == 2, parts.allSatisfy({ $0.count == 2 }),
            let perPerson = Int(setting: String(parts[0][0])), let perAddress = Int(setting: String(parts[1][0])),
            perPerson > 0, perAddress > 0,
            let personWindow = Duration(setting: String(parts[0][1])),
            let addressWindow = Duration(setting: String(parts[1][1])),
            Self.isCountable(perPerson, in: personWindow), Self.isCountable(perAddress, in: addressWindow)
        else { return nil }
        self.perPerson = perPerson
        self.perAddress = perAddress
        self.personWindow = personWindow
        self.addressWindow = addressWindow
    }

    /// Returns true if the window is at most `RateLimit.maxSeconds` long, and has at least one nanosecond for each
    /// call: the limiter counts in whole nanoseconds.
    private static func isCountable(_ count: Int, in window: Duration) -> Bool {
        window > .zero && window <= .seconds(RateLimit.maxSeconds) && .nanoseconds(count) <= window
    }
}

extension Duration {
    /// Parses `500ms`, `25s`, `5m`, `1h`, `1d`; a number alone is milliseconds. nil for anything else.
    init?(setting text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int(digits) else { return nil }
        let unit: Int
        switch text.dropFirst(digits.count) {
        case "", "ms": unit = 1
        case "s": unit = 1000
        case "m": unit = 60_000
        case "h": unit = 3_600_000
        case "d": unit = 86_400_000
        default: return nil
        }
        let (milliseconds, over) = count.multipliedReportingOverflow(by: unit)
        guard !over else { return nil }
        self = .milliseconds(milliseconds)
    }

    /// The duration in whole milliseconds, truncated.
    public var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}

extension Int {
    /// Parses `65536`, `64k`, `1m`. nil for anything else.
    init?(setting text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int(digits) else { return nil }
        let unit: Int
        switch text.dropFirst(digits.count) {
        case "": unit = 1
        case "k": unit = 1024
        case "m": unit = 1024 * 1024
        default: return nil
        }
        let (bytes, over) = count.multipliedReportingOverflow(by: unit)
        guard !over else { return nil }
        self = bytes
    }
}
