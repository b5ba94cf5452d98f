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
    ///   `.inquiry` for `--help` and the like.
    public init(
        _ settings: [any AnySetting], arguments: [String] = [], environment: [String: String] = [:]
    ) throws(ConfigurationError) {
        let names = settings.flatMap { setting in
            [(setting.flag, setting)] + (setting.oldName.map { [($0.flag, setting)] } ?? [])
        }
        let flags = Dictionary(names, uniquingKeysWith: { first, _ in first })
        for setting in settings {
            let old = setting.oldName.flatMap { environment[$0] }
            let validOld = old.flatMap { setting.objection(to: $0) == nil ? $0 : nil }
            values[setting.name] = environment[setting.name] ?? validOld ?? setting.defaultText
        }
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if let inquiry = Inquiry(argument) { throw .inquiry(inquiry) }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let setting = flags[String(parts[0])] else { throw .unknownFlag(argument) }
            guard let value = parts.count == 2 ? String(parts[1]) : setting.valueOfBareFlag ?? rest.popFirst() else {
                throw .missingValue(setting.flag)
            }
            values[setting.name] = value
        }
        for setting in settings {
            guard let value = values[setting.name] else { continue }
            if let objection = setting.objection(to: value) {
                let given = setting.isSecret ? "" : ", not \"\(value)\""
                throw .malformed("\(setting.name) (\(setting.flag)) \(objection)\(given)")
            }
            let isGiven = !["", setting.defaultText].contains(value)
            if setting.group == .faults, isGiven, values[Setting.testing.name] != "on" {
                throw .malformed("\(setting.name) (\(setting.flag)) is for tests: it needs \(Setting.testing.name)=on")
            }
        }
    }

    /// The value of a setting, which must be one of those that this was created with.
    public subscript<Value>(setting: Setting<Value>) -> Value {
        guard let text = values[setting.name] else {
            fatalError("\(setting.name) is not a setting of this program")
        }
        return setting.value(of: text)
    }
}

extension [any AnySetting] {
    /// Adds a setting, unless another part of the program has the same one already.
    ///
    /// - Throws: `ConfigurationError` if there is another one of this name: its value may not be of the same type.
    mutating func add(_ setting: any AnySetting) throws(ConfigurationError) {
        guard let known = first(where: { $0.name == setting.name }) else { return append(setting) }
        guard (known.help, known.defaultText) == (setting.help, setting.defaultText) else {
            throw .malformed("two parts of this program have a setting \(setting.name): rename one")
        }
    }
}

/// The reason why a program does not start. Its description is the line that the operator sees.
public enum ConfigurationError: Error, Equatable, CustomStringConvertible {
    case inquiry(Inquiry)
    case unknownFlag(String)
    case missingValue(String)
    case malformed(String)

    public var description: String {
        switch self {
        case .inquiry(let inquiry): inquiry.rawValue
        case .unknownFlag(let flag): "there is no setting \(flag); --help lists all"
        case .missingValue(let flag): "\(flag) needs a value"
        case .malformed(let what): what
        }
    }
}
