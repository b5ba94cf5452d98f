/// The values of a program's settings: from the command line, otherwise from the environment, otherwise their
/// defaults.
///
/// Components and services read their settings from it when they are created. From then on they use plain values.
public struct Configuration: Sendable {
    /// The values as valid texts, by the settings' names.
    private var values: [String: String] = [:]

    /// Reads and checks the values of settings.
    ///
    /// - Throws: `ConfigurationError` for an unknown flag, a flag without its value, or an invalid value;
    ///   `.isHelpRequested` for `--help`.
    public init(
        _ settings: [any AnySetting], arguments: [String] = [], environment: [String: String] = [:]
    ) throws(ConfigurationError) {
        let flags = Dictionary(settings.map { ($0.flag, $0) }, uniquingKeysWith: { first, _ in first })
        for setting in settings { values[setting.name] = environment[setting.name] ?? setting.standard }
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" { throw .isHelpRequested }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let setting = flags[String(parts[0])] else { throw .unknownFlag(argument) }
            guard let value = parts.count == 2 ? String(parts[1]) : setting.valueOfBareFlag ?? rest.popFirst() else {
                throw .missingValue(setting.flag)
            }
            values[setting.name] = value
        }
        for setting in settings {
            guard let value = values[setting.name], let objection = setting.objection(to: value) else { continue }
            let given = setting.isSecret ? "" : ", not \"\(value)\""
            throw .malformed("\(setting.name) (\(setting.flag)) \(objection)\(given)")
        }
    }

    /// The value of a setting, which must be one of those that this was created with.
    public subscript<Value>(setting: Setting<Value>) -> Value {
        guard let text = values[setting.name] else {
            fatalError("\(setting.name) is not a setting of this program")
        }
        return setting.value(of: text)
    }

    /// Returns the text of `--help`: a line for each setting, with its flag, its name in the environment, its effect,
    /// its default and its bounds. `deploy/separate` and `deploy/settings-doc` parse these lines.
    public static func help(program: String, summary: String, _ settings: [any AnySetting]) -> String {
        var lines = [summary, "", "usage: \(program) [--flag VALUE]…", ""]
        let names = settings.map { "  \($0.flag) \($0.name)" }
        let width = names.map(\.count).max() ?? 0
        for (name, setting) in zip(names, settings) {
            let padding = String(repeating: " ", count: width - name.count)
            let values = setting.standard + (setting.bounds.map { "; \($0)" } ?? "")
            lines.append("\(name)\(padding)  \(setting.help)" + (values.isEmpty ? "" : " [\(values)]"))
        }
        lines += ["", "Each is read from the environment too, by the name after its flag. The flag wins."]
        return lines.joined(separator: "\n")
    }
}

/// The reason why a program does not start. Its description is the line that the operator sees.
public enum ConfigurationError: Error, Equatable, CustomStringConvertible {
    case isHelpRequested
    case unknownFlag(String)
    case missingValue(String)
    case malformed(String)

    public var description: String {
        switch self {
        case .isHelpRequested: "--help"
        case .unknownFlag(let flag): "there is no setting \(flag); --help lists all"
        case .missingValue(let flag): "\(flag) needs a value"
        case .malformed(let what): what
        }
    }
}
