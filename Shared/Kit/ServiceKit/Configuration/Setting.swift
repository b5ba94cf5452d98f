/// A setting: a word that is the same in the environment (`PING_INTERVAL`), on the command line (`--ping-interval`) and
/// in the docs, and the type of its value. A few that are typed by hand have a shorter flag.
///
///     static let pingInterval = Setting(
///         "PING_INTERVAL", .duration(.milliseconds(100)...(.seconds(3600))), default: "25s",
///         "How often a socket is pinged")
///     configuration[pingInterval]  // a Duration
public struct Setting<Value: Sendable>: AnySetting {
    public let name: String
    public let flag: String
    public let standard: String
    public let help: String
    public let bounds: String?
    public let valueOfBareFlag: String?
    public let isSecret: Bool
    private let rule: @Sendable () -> String
    private let read: @Sendable (String) -> Value?

    /// - Parameters:
    ///   - flag: nil to derive it from the name: `--ping-interval` for `PING_INTERVAL`.
    ///   - standard: the default, as a person would write it.
    public init(
        _ name: String, flag: String? = nil, _ kind: SettingKind<Value>, default standard: String, _ help: String
    ) {
        self.init(name, flag, kind, standard, help, kind.read)
    }

    /// Creates a setting without a default. If it is empty, its value is nil.
    public init<Given>(_ name: String, flag: String? = nil, _ kind: SettingKind<Given>, _ help: String)
    where Value == Given? {
        self.init(name, flag, kind, "", help) { text in
            text.isEmpty ? .some(nil) : kind.read(text).map { .some($0) }
        }
    }

    private init<Given>(
        _ name: String, _ flag: String?, _ kind: SettingKind<Given>, _ standard: String, _ help: String,
        _ read: @escaping @Sendable (String) -> Value?
    ) {
        self.name = name
        self.flag = flag ?? "--" + name.lowercased().split(separator: "_").joined(separator: "-")
        self.standard = standard
        self.help = help
        self.read = read
        bounds = kind.bounds
        valueOfBareFlag = kind.valueOfBareFlag
        isSecret = kind.isSecret
        rule = kind.rule
    }

    public func objection(to text: String) -> String? { read(text) == nil ? rule() : nil }

    /// Returns the value of a valid text.
    func value(of text: String) -> Value {
        guard let value = read(text) else { preconditionFailure("\(name) was checked") }
        return value
    }
}

/// A setting with any type of value, for a program's list of settings, the command line and `--help`.
public protocol AnySetting: Sendable {
    var name: String { get }
    var flag: String { get }
    /// The default, as a person would write it; empty if there is none.
    var standard: String { get }
    var help: String { get }
    /// The lowest and the highest value, such as "100ms to 1h"; nil without such bounds.
    var bounds: String? { get }
    /// The setting's value if the flag is given alone; nil if the flag needs a value.
    var valueOfBareFlag: String? { get }
    /// True if the setting's text may contain a secret. Such a text is not shown.
    var isSecret: Bool { get }

    /// Returns the reason why a text is invalid, in words that complete "PORT …"; nil if it is valid.
    func objection(to text: String) -> String?
}
