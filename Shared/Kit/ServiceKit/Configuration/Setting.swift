import MessageBus
import Reactor
import Storage

/// One setting: a word that is the same in the environment (`PING_INTERVAL`), on the command line (`--ping-interval`) and
/// in the docs. A few that are typed by hand have a shorter flag.
public struct Setting: Sendable {
    public enum Kind: Sendable {
        case text
        case path
        /// A TCP port; 0 lets the system pick one.
        case port
        case number(ClosedRange<Int>)
        /// `500ms`, `25s`, `5m`, `1h`, `1d`; a bare number is milliseconds.
        case duration(ClosedRange<Duration>)
        /// Bytes: `65536`, `64k`, `1m`.
        case size(ClosedRange<Int>)
        case choice([String])
        /// `on` or `off`; the flag alone is `on`.
        case toggle
        /// `COUNT/DURATION` for each person and, after a comma, for each address: `60/10s,600/10s`; of bytes `64m/1h,640m/1h`.
        case rate
        /// `rooms,messaging`: one at least, each once.
        case services
        /// Addresses and ranges of them: `10.0.0.1,10.1.0.0/16`.
        case networks
        /// `after-commit:37`.
        case crashPoint
    }

    public let name: String
    public let flag: String
    public let kind: Kind
    /// As a person would write it; an empty text means that there is none.
    public let standard: String
    public let help: String

    /// - Parameter flag: nil for the name's own: `--ping-interval` for `PING_INTERVAL`.
    public init(_ name: String, flag: String? = nil, _ kind: Kind, default standard: String, _ help: String) {
        self.name = name
        self.flag = flag ?? "--" + name.lowercased().split(separator: "_").joined(separator: "-")
        self.kind = kind
        self.standard = standard
        self.help = help
    }

    /// What the flag means without a value; nil if it needs one.
    var valueOfBareFlag: String? {
        if case .toggle = kind { "on" } else { nil }
    }

    /// What is wrong with a value, in words that finish "PORT …"; nil if it is fine.
    func objection(to value: String) -> String? {
        switch kind {
        case .text, .path: nil
        case .port: UInt16(value) == nil ? "has to be a port number, 0 to 65535" : nil
        case .number(let range):
            Int(value).map(range.contains) == true
                ? nil : "has to be a number, \(range.lowerBound) to \(range.upperBound)"
        case .duration(let range):
            Duration(setting: value).map(range.contains) == true
                ? nil
                : "has to be a time such as 500ms, 25s or 5m, \(range.lowerBound) to \(range.upperBound)"
        case .size(let range):
            Int(setting: value).map(range.contains) == true
                ? nil : "has to be a size such as 65536, 64k or 1m, \(range.lowerBound) to \(range.upperBound) bytes"
        case .choice(let choices):
            choices.contains(value) ? nil : "has to be one of \(choices.joined(separator: ", "))"
        case .toggle: ["on", "off"].contains(value) ? nil : "has to be on or off"
        case .rate: Rate(setting: value) == nil ? "has to be COUNT/TIME,COUNT/TIME, such as 60/10s,600/10s" : nil
        case .services:
            Self.areServices(Self.list(value)) ? nil : "has to be names of services, each once, such as rooms,messaging"
        case .networks:
            Self.list(value).allSatisfy { IPNetwork($0) != nil }
                ? nil : "has to be addresses or ranges of them, such as 10.0.0.1,10.1.0.0/16"
        case .crashPoint:
            CrashPoint(value) == nil
                ? "has to be \(CrashPoint.Place.allCases.map(\.rawValue).joined(separator: ", ")) with a count, such as after-commit:37"
                : nil
        }
    }

    /// What stands between commas.
    static func list(_ value: String) -> [String] {
        value.split(separator: ",", omittingEmptySubsequences: false).map { String($0).trimmed }
    }

    /// A service's name is a token of its subjects, and the queue group that its instances share.
    private static func areServices(_ names: [String]) -> Bool {
        names.allSatisfy(SubjectGrammar.isQueue) && Set(names).count == names.count
    }
}

/// How often each person, and each address, may do something.
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
            let personWindow = Duration(setting: String(parts[0][1])), personWindow > .zero,
            let addressWindow = Duration(setting: String(parts[1][1])), addressWindow > .zero
        else { return nil }
        self.perPerson = perPerson
        self.perAddress = perAddress
        self.personWindow = personWindow
        self.addressWindow = addressWindow
    }
}

extension Duration {
    /// `500ms`, `25s`, `5m`, `1h`, `1d`; a bare number is milliseconds. nil for anything else.
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

    /// Whole milliseconds, cut off.
    public var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}

extension Int {
    /// `65536`, `64k`, `1m`. nil for anything else.
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
