/// An event log: its service, and its number there (`LogLayout`), which is 0 for nearly all services' only log.
public struct LogID: Sendable, Hashable {
    public let service: String
    public let number: Int

    public init(_ service: String, _ number: Int = 0) {
        self.service = service
        self.number = number
    }

    /// The name in subjects, databases and cursors: the service's name for the number 0, otherwise `messaging.103`.
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
/// If an operator changes how many there are, a new generation of logs begins. No log's number is used again.
public struct LogLayout: Sendable, Hashable {
    /// The only log of a service that never had another number of them.
    public static let single = LogLayout(generation: 0, count: 1)
    /// The number of logs that a service may have.
    public static let range = 1...16
    /// The numbers that a log may have.
    public static let numbers = 0..<100_000

    public let generation: Int
    public let count: Int

    /// - Parameters:
    ///   - generation: 0 only for one log.
    ///   - count: the number of logs, in `range`.
    public init(generation: Int, count: Int) {
        precondition(Self.range.contains(count) && (generation > 0 || count == 1), "\(count) logs")
        self.generation = generation
        self.count = count
    }

    /// Creates the layout with these logs, in their order; nil if there is none.
    public init?(numbers: [Int]) {
        guard let first = numbers.first, Self.numbers.contains(first), Self.range.contains(numbers.count) else {
            return nil
        }
        let generation = Self.place(of: first).generation
        guard generation > 0 || numbers == [0] else { return nil }
        self.init(generation: generation, count: numbers.count)
        guard self.numbers == numbers else { return nil }
    }

    /// The numbers of the logs: 100 for each generation, plus 0, 1 and so on.
    public var numbers: [Int] { (0..<count).map { 100 * generation + $0 } }

    /// Returns the generation of a log, and its place among those of its layout, from 0.
    public static func place(of number: Int) -> (generation: Int, index: Int) { (number / 100, number % 100) }

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
