/// An event log: its service, and its number there (`LogLayout`), which is 0 for the only log of a service.
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

/// How a service spreads its rooms over event logs. A room has one log, so its entries have one order. Commits to different
/// logs do not wait for each other.
///
/// Each layout has numbers of its own: with another count, all logs are new.
public struct LogLayout: Sendable, Hashable {
    public static let single = LogLayout(count: 1)
    public static let range = 1...16
    /// The numbers that a log of any layout may have.
    public static let numbers = 0..<10_000

    /// The number of logs, in `range`.
    public let count: Int

    public init(count: Int) {
        precondition(Self.range.contains(count), "\(count) logs")
        self.count = count
    }

    /// The numbers of the logs: 0 alone, or 100 for each log that there is, plus 0, 1 and so on. The second of four is 401.
    public var numbers: [Int] { count == 1 ? [0] : (0..<count).map { 100 * count + $0 } }

    /// Returns the number of a room's log. SERVICE-PROTOCOL.md has vectors.
    public func number(ofRoom id: String) -> Int {
        guard count > 1 else { return 0 }
        // FNV-1a, folded, as its low and its high bits are each even only for some texts.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in id.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return 100 * count + Int((hash ^ hash >> 32) % UInt64(count))
    }

    /// Returns the place of a log among those of its layout, from 0, and their number.
    public static func place(of number: Int) -> (index: Int, count: Int) {
        number == 0 ? (0, 1) : (number % 100, number / 100)
    }

    /// Returns true if these are the numbers of all logs of a layout.
    public static func isWhole(_ numbers: [Int]) -> Bool {
        guard let count = numbers.first.map({ place(of: $0).count }), range.contains(count) else { return false }
        return LogLayout(count: count).numbers == numbers.sorted()
    }

    public func logs(of service: String) -> [LogID] { numbers.map { LogID(service, $0) } }
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
