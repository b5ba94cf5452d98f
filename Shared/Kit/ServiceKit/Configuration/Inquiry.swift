import ParlorJSON

/// The version of Parlor, for everything that shows it.
public enum Release {
    public static let version = "0.2.0"
}

/// A flag that makes a program print something about itself and exit.
public enum Inquiry: String, Sendable {
    case help = "--help"
    case fullHelp = "--help-all"
    /// All settings as JSON, for scripts.
    case settings = "--settings-json"
    case version = "--version"

    /// nil for any other argument.
    public init?(_ argument: String) { self.init(rawValue: argument == "-h" ? "--help" : argument) }

    /// - Parameter commands: the program's commands, each with the first line of its summary.
    public func answer(
        program: String, summary: String, _ settings: [any AnySetting], commands: [(name: String, summary: String)] = []
    ) -> String {
        switch self {
        case .version: return "\(program) \(Release.version)"
        case .settings: return String(decoding: Self.json(settings).bytes, as: UTF8.self)
        case .help, .fullHelp: break
        }
        var lines = summary.split(separator: "\n").flatMap { String($0).wrapped(to: Self.width) }
        lines += ["", "usage: \(program) [--flag VALUE]…"]
        for (group, settings) in Self.grouped(settings) where group.inquiry == .help || group.inquiry == self {
            lines += ["", group.rawValue] + settings.map(Self.row)
        }
        if !commands.isEmpty { lines += ["", "Commands, each with its own --help"] }
        lines += commands.map { Self.row("\(program) \($0.name)", $0.summary) } + [""]
        if self == .help, settings.contains(where: { $0.group.inquiry == .fullHelp }) {
            lines.append("--help-all also lists rates and fine tuning.")
        }
        lines.append("Each flag is also an environment variable: PING_INTERVAL for --ping-interval. The flag wins.")
        return lines.joined(separator: "\n")
    }

    private static let width = 100
    /// The column at which descriptions begin.
    private static let column = 30

    private static func grouped(_ settings: [any AnySetting]) -> [(SettingGroup, [any AnySetting])] {
        SettingGroup.allCases.map { group in (group, settings.filter { $0.group == group }) }.filter { !$1.isEmpty }
    }

    private static func row(_ setting: any AnySetting) -> String {
        let values = ["default: \(setting.defaultText)", setting.bounds].compactMap(\.self).joined(separator: "; ")
        let name = setting.flag == setting.name.flag ? setting.flag : "\(setting.flag) (\(setting.name))"
        return row(name, "\(setting.help) [\(values)]")
    }

    private static func row(_ term: String, _ text: String) -> String {
        let gap = column - term.count - 2
        let margin = "\n" + String(repeating: " ", count: column)
        return "  \(term)" + (gap < 2 ? margin : String(repeating: " ", count: gap))
            + text.wrapped(to: width - column).joined(separator: margin)
    }

    private static func json(_ settings: [any AnySetting]) -> JSONValue {
        JSONWriter.value { json in
            json.array(of: grouped(settings).flatMap { $1 }) { json, setting in
                json.object {
                    $0.member("name", setting.name)
                    $0.member("flag", setting.flag)
                    $0.member("oldName", setting.oldName)
                    $0.member("group", setting.group.rawValue)
                    $0.member("default", setting.defaultText)
                    $0.member("values", setting.bounds)
                    $0.member("help", setting.help)
                }
            }
        }
    }
}

extension String {
    /// The words in lines of at most `width` characters. A longer word has a line of its own.
    fileprivate func wrapped(to width: Int) -> [String] {
        split(separator: " ").reduce(into: []) { lines, word in
            if let last = lines.last, last.count + word.count < width {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
    }
}
