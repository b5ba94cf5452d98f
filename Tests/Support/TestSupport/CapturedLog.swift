import ParlorContracts
import ParlorLogging

/// Collects the lines that a program logs.
public final class CapturedLog: Sendable {
    private let collected = Collector<String>()
    public let logger: Logger

    public init(level: Logger.Level = .debug, format: Logger.Format = .json, clock: any WallClock = SystemClock()) {
        logger = Logger("test", level: level, format: format, clock: clock) { [collected] line in
            collected.add(String(decoding: line, as: UTF8.self))
        }
    }

    /// The lines, each with its newline.
    public var lines: [String] { collected.items }
    public var text: String { collected.items.joined() }

    /// Returns all lines, once there are at least so many.
    @discardableResult
    public func first(_ count: Int) async -> [String] { await collected.first(count) }
}
