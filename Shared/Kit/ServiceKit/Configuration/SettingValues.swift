import ParlorContracts

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
    private static let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]

    /// Parses `500ms`, `25s`, `5m`, `1h`, `1d`; a number alone is milliseconds. nil for anything else.
    init?(setting text: String) {
        guard let milliseconds = Int(text, in: Self.units) else { return nil }
        self = .milliseconds(milliseconds)
    }

    /// The duration in whole milliseconds, as it is written in a setting: in the largest unit that divides it.
    var settingText: String { milliseconds == 0 ? "0s" : milliseconds.text(in: Self.units) }

    /// The duration in whole milliseconds, truncated.
    public var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}

extension Int {
    private static let sizes = [("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)]

    /// Parses `65536`, `64k`, `1m`, `1g`. nil for anything else.
    init?(setting text: String) { self.init(text, in: Self.sizes) }

    /// The number of bytes as it is written in a setting: in the largest unit that divides it.
    var sizeText: String { self == 0 ? "0" : text(in: Self.sizes) }

    /// Parses a number with the name of a unit, or without one. nil for anything else.
    fileprivate init?(_ text: String, in units: [(name: String, size: Int)]) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int(digits) else { return nil }
        let name = text.dropFirst(digits.count)
        guard let unit = name.isEmpty ? 1 : units.first(where: { $0.name == name })?.size else { return nil }
        let (value, over) = count.multipliedReportingOverflow(by: unit)
        guard !over else { return nil }
        self = value
    }

    /// - Parameter units: the largest one first.
    fileprivate func text(in units: [(name: String, size: Int)]) -> String {
        guard let unit = units.first(where: { isMultiple(of: $0.size) }) else { return String(self) }
        return "\(self / unit.size)\(unit.name)"
    }
}
