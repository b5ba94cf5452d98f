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
    public let oldName: String?
    public let group: SettingGroup
    public let defaultText: String
    public let help: String
    private let kind: SettingKind<Value>

    /// - Parameters:
    ///   - flag: nil to derive it from the name: `--ping-interval` for `PING_INTERVAL`.
    ///   - oldName: a name that the setting had, and that its program still accepts.
    ///   - defaultText: the default, as a person would write it.
    public init(
        _ name: String, flag: String? = nil, oldName: String? = nil, _ kind: SettingKind<Value>,
        default defaultText: String, in group: SettingGroup = .others, _ help: String
    ) {
        self.name = name
        self.flag = flag ?? name.flag
        self.oldName = oldName
        self.group = group
        self.defaultText = defaultText
        self.help = help
        self.kind = kind
    }

    /// Creates a setting whose value is nil if its text is empty, or says what applies without one.
    ///
    /// - Parameter unset: what applies. If it is `auto`, 0 means the same, as in earlier versions.
    public init<Given>(
        _ name: String, flag: String? = nil, _ kind: SettingKind<Given>, in group: SettingGroup = .others,
        unset: String = "none", _ help: String
    ) where Value == Given? {
        let absent = ["", unset] + (unset == "auto" ? ["0"] : [])
        let optional = SettingKind<Value>(
            kind.rule() + (unset.allSatisfy(\.isLetter) ? ", or \(unset)" : ""), bounds: kind.bounds,
            bareFlag: kind.valueOfBareFlag, isSecret: kind.isSecret
        ) { text in
            absent.contains(text) ? .some(nil) : kind.read(text).map { .some($0) }
        }
        self.init(name, flag: flag, optional, default: unset, in: group, help)
    }

    public var bounds: String? { kind.bounds }
    public var valueOfBareFlag: String? { kind.valueOfBareFlag }
    public var isSecret: Bool { kind.isSecret }
    public func objection(to text: String) -> String? { kind.read(text) == nil ? kind.rule() : nil }

    /// Returns the value of a valid text.
    func value(of text: String) -> Value {
        guard let value = kind.read(text) else { preconditionFailure("\(name) was checked") }
        return value
    }
}

/// A setting with any type of value, for a program's list of settings, the command line and `--help`.
public protocol AnySetting: Sendable {
    var name: String { get }
    var flag: String { get }
    /// The name before it was changed. In the environment it counts only with a valid value, as it may be the name of
    /// another program's setting.
    var oldName: String? { get }
    var group: SettingGroup { get }
    /// The default, as a person would write it, such as `25s` or `none`.
    var defaultText: String { get }
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

/// The groups of settings, in the order of `--help`. The raw values are their titles.
public enum SettingGroup: String, CaseIterable, Sendable {
    case listen = "Listen"
    case storage = "Storage"
    case bus = "Bus and services"
    case people = "People"
    case limits = "Limits"
    case notifications = "Notifications"
    case process = "Process and log"
    /// Options of commands, and settings of services that are not Parlor's own.
    case others = "Others"
    // Only `--help-all` lists these.
    case tuning = "Fine tuning"
    case rates = "Rates per person and address"
    // Neither list has these.
    case tests = "For tests"
    /// Dangerous to real data: refused without `TESTING=on`.
    case faults = "For tests, with TESTING=on"

    /// The flag that lists the group; nil if none does.
    var inquiry: Inquiry? {
        switch self {
        case .tuning, .rates: .fullHelp
        case .tests, .faults: nil
        default: .help
        }
    }
}

extension String {
    /// The flag of a setting with this name.
    var flag: String { "--" + lowercased().split(separator: "_").joined(separator: "-") }
}
