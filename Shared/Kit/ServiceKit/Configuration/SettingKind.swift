import ParlorMessageBus
import ParlorReactor
import ParlorStorage

/// Converts a setting's text into its value.
public struct SettingKind<Value: Sendable>: Sendable {
    /// The rule for valid texts, in words that complete "PORT …".
    let rule: @Sendable () -> String
    /// The lowest and the highest value, such as "100ms to 1h"; nil without such bounds.
    let bounds: String?
    let valueOfBareFlag: String?
    let isSecret: Bool
    /// Converts a text; nil if it is invalid.
    let read: @Sendable (String) -> Value?

    public init(
        _ rule: @escaping @autoclosure @Sendable () -> String, bounds: String? = nil, bareFlag: String? = nil,
        isSecret: Bool = false, read: @escaping @Sendable (String) -> Value?
    ) {
        self.rule = rule
        self.bounds = bounds
        self.isSecret = isSecret
        valueOfBareFlag = bareFlag
        self.read = read
    }

    /// Accepts one of a few values, by their names.
    public static func choice(_ values: [Value], named name: @escaping @Sendable (Value) -> String) -> SettingKind {
        SettingKind("has to be one of \(values.map(name).joined(separator: ", "))") { text in
            values.first { name($0) == text }
        }
    }
}

extension SettingKind
where Value: CaseIterable & RawRepresentable, Value.RawValue == String, Value.AllCases == [Value] {
    /// Accepts one of an enumeration's cases, by their raw values.
    public static func choice(_ type: Value.Type) -> SettingKind { choice(type.allCases) { $0.rawValue } }
}

extension SettingKind where Value == String {
    public static var text: SettingKind { SettingKind("has to be a text") { $0 } }
    public static var path: SettingKind { text }
}

extension SettingKind where Value == Bool {
    /// Accepts `on` or `off`.
    public static var onOrOff: SettingKind { .choice([true, false]) { $0 ? "on" : "off" } }

    /// Accepts `on` or `off`; the flag alone means `on`.
    public static var toggle: SettingKind {
        SettingKind("has to be on or off", bareFlag: "on") { ["on": true, "off": false][$0] }
    }
}

extension SettingKind where Value == UInt16 {
    /// Accepts a TCP port; 0 lets the system pick one.
    public static var port: SettingKind { SettingKind("has to be a port number, 0 to 65535") { UInt16($0) } }
}

extension SettingKind where Value == Int {
    public static func number(_ range: ClosedRange<Int>) -> SettingKind {
        let bounds = "\(range.lowerBound) to \(range.upperBound)"
        return SettingKind("has to be a number, \(bounds)", bounds: bounds) { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Accepts a number of bytes: `65536`, `64k`, `1m`, `1g`.
    public static func size(_ range: ClosedRange<Int>) -> SettingKind {
        let bounds = "\(range.lowerBound.sizeText) to \(range.upperBound.sizeText)"
        return SettingKind("has to be a size such as 65536, 64k or 1m, \(bounds)", bounds: bounds) { text in
            Int(setting: text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension SettingKind where Value == Duration {
    /// Accepts `500ms`, `25s`, `5m`, `1h`, `1d`; a number alone is milliseconds.
    public static func duration(_ range: ClosedRange<Duration>) -> SettingKind {
        let bounds = "\(range.lowerBound.settingText) to \(range.upperBound.settingText)"
        return SettingKind("has to be a time such as 500ms, 25s or 5m, \(bounds)", bounds: bounds) { text in
            Duration(setting: text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension SettingKind where Value == Rate {
    /// Accepts `COUNT/DURATION` for each person and, after a comma, for each address: `60/10s,600/10s`; for
    /// bytes `64m/1h,640m/1h`.
    public static var rate: SettingKind {
        SettingKind("has to be COUNT/TIME,COUNT/TIME, such as 60/10s,600/10s") { Rate(setting: $0) }
    }

    /// Accepts `COUNT/DURATION` for each address, for a limit that counts no people; and the text of a `rate`.
    public static var addressRate: SettingKind {
        SettingKind("has to be COUNT/TIME, such as 600/10s") { Rate(setting: $0.contains(",") ? $0 : "\($0),\($0)") }
    }
}

extension SettingKind where Value == [String: Rate] {
    /// Accepts rates by the names of limits: `polls=60/10s,600/10s;votes=9/1m,90/1m`.
    ///
    /// - Parameter others: limits that have settings of their own.
    public static func rates(except others: [String] = []) -> SettingKind {
        SettingKind(
            "has to be NAME=COUNT/TIME,COUNT/TIME, each name once and none with a setting RATE_NAME, such as polls=60/10s,600/10s;votes=9/1m,90/1m"
        ) { text in
            var rates: [String: Rate] = [:]
            for part in text.split(separator: ";", omittingEmptySubsequences: false) {
                let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
                guard pair.count == 2, !pair[0].contains(where: \.isWhitespace), let rate = Rate(setting: pair[1]),
                    !others.contains(pair[0]), rates.updateValue(rate, forKey: pair[0]) == nil
                else { return nil }
            }
            return rates
        }
    }
}

extension SettingKind where Value == [String] {
    /// Accepts names such as `rooms,messaging`: at least one, each once. A service's name is a token of its
    /// subjects, and the queue group of its instances.
    public static var services: SettingKind {
        SettingKind("has to be names of services, each once, such as rooms,messaging") { text in
            let names = text.settingList
            return names.allSatisfy(SubjectGrammar.isQueue) && Set(names).count == names.count ? names : nil
        }
    }
}

extension SettingKind where Value == [IPNetwork] {
    /// Accepts addresses and ranges of them: `10.0.0.1,10.1.0.0/16`.
    public static var networks: SettingKind {
        SettingKind("has to be addresses or ranges of them, such as 10.0.0.1,10.1.0.0/16") { text in
            let networks = text.settingList.map { IPNetwork($0) }
            return networks.contains(nil) ? nil : networks.compactMap { $0 }
        }
    }
}

extension SettingKind where Value == CrashPoint {
    /// Accepts a point such as `after-commit:37`.
    public static var crashPoint: SettingKind {
        SettingKind(
            "has to be \(CrashPoint.Moment.allCases.map(\.rawValue).joined(separator: ", ")) with a count, such as after-commit:37"
        ) { CrashPoint($0) }
    }
}

extension SettingKind where Value == BusURL {
    public static var bus: SettingKind {
        SettingKind("has to be tcp://HOST:PORT or nats://HOST:PORT", isSecret: true) { BusURL($0) }
    }
}

extension String {
    /// The parts between commas.
    package var settingList: [String] {
        split(separator: ",", omittingEmptySubsequences: false).map { String($0).trimmed }
    }
}
