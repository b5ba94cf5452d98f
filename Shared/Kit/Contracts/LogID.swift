/// An event log: its service, and its number there. So far every service has one log, with the number 0.
public struct LogID: Sendable, Hashable {
    public let service: String
    public let number: Int

    public init(_ service: String, _ number: Int = 0) {
        self.service = service
        self.number = number
    }

    /// The name in subjects, databases and cursors: the service's name for the number 0, otherwise `messaging.3`.
    public var name: String { number == 0 ? service : "\(service).\(number)" }

    /// Parses the result of `name`; nil for anything else.
    public init?(name: String) {
        guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else {
            self.init(name)
            return
        }
        let digits = name[dot...].dropFirst()
        guard let number = Int(digits), number > 0, String(number) == digits else { return nil }
        self.init(String(name[..<dot]), number)
    }
}

extension LogID: Comparable {
    public static func < (a: LogID, b: LogID) -> Bool { (a.service, a.number) < (b.service, b.number) }
}

extension LogID: CustomStringConvertible {
    public var description: String { name }
}

extension LogID: ExpressibleByStringLiteral {
    /// Creates the id of a service's log with the number 0.
    public init(stringLiteral service: String) {
        precondition(!service.contains("."), "no service's name has a dot")
        self.init(service)
    }
}

/// The position of an entry: its log, and its number there.
public struct EntryPosition: Sendable, Equatable {
    public let log: LogID
    public let seq: Int

    public init(log: LogID, seq: Int) {
        self.log = log
        self.seq = seq
    }
}
