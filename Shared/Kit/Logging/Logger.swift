import ParlorContracts
import ParlorJSON

/// Structured logs: text on a terminal, otherwise one JSON object per line.
///
/// No token, password, name or text of a person may be logged; ids, codes, counts and times may.
public struct Logger: Sendable {
    public enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug, info, warning, error

        public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
        public var name: String { ["debug", "info", "warning", "error"][rawValue] }
    }

    public enum Format: Sendable { case text, json }

    public typealias Fields = KeyValuePairs<String, any CustomStringConvertible & Sendable>

    /// Receives whole lines, with their newline, on any thread. Must not block.
    public typealias Sink = @Sendable ([UInt8]) -> Void

    /// What each line begins with. JSON with two members of one name shows most readers only the last, so a field of
    /// such a name is written with `_` after it.
    private static let ownMembers: Set<String> = ["time", "level", "service", "message"]

    private let label: String
    private let level: Level
    private let format: Format
    private let sink: Sink
    private let clock: any WallClock

    public init(
        _ label: String, level: Level = .info, format: Format = .json, clock: any WallClock = SystemClock(),
        sink: @escaping Sink
    ) {
        self.label = label
        self.level = level
        self.format = format
        self.clock = clock
        self.sink = sink
    }

    /// A logger that writes nothing, for tests.
    public static let silent = Logger("silent", level: .error, sink: { _ in })

    public func labelled(_ label: String) -> Logger {
        Logger(label, level: level, format: format, clock: clock, sink: sink)
    }

    public func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
        if level <= .debug { write(.debug, message(), fields()) }
    }

    public func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
        if level <= .info { write(.info, message(), fields()) }
    }

    public func warning(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
        if level <= .warning { write(.warning, message(), fields()) }
    }

    public func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
        write(.error, message(), fields())
    }

    private func write(_ level: Level, _ message: String, _ fields: Fields) {
        let time = clock.now().iso
        switch format {
        case .json:
            sink(
                JSONWriter.bytes { json in
                    json.object {
                        $0.member("time", time)
                        $0.member("level", level.name)
                        $0.member("service", label)
                        $0.member("message", message)
                        for (field, value) in fields {
                            let name = Self.ownMembers.contains(field) ? field + "_" : field
                            if let number = value as? Int {
                                $0.member(name, number)
                            } else {
                                $0.member(name, "\(value)")
                            }
                        }
                    }
                } + [UInt8(ascii: "\n")])
        case .text:
            let described = fields.map { " \($0)=\($1)" }.joined()
            let padding = String(repeating: " ", count: max(0, 7 - level.name.count))
            let line = "\(time) \(level.name)\(padding) \(label): \(message)\(described)"
            // A line feed in a value would forge a line, and an escape sequence would control the terminal.
            let scalars = line.unicodeScalars.lazy.flatMap { scalar in
                (scalar.properties.generalCategory == .control ? scalar.escaped(asASCII: true) : String(scalar)).utf8
            }
            sink(Array(scalars) + [UInt8(ascii: "\n")])
        }
    }
}
