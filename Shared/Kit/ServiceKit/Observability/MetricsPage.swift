/// The latest rendering of the metrics, for scrapers that ask often.
struct MetricsPage {
    /// The limit of renderings in a second.
    static let maxRenderings = 10

    private var bytes: [UInt8]?
    private var second: ContinuousClock.Instant?
    private var count = 0

    /// Returns the latest rendering; nil if it must be rendered again.
    mutating func take(at now: ContinuousClock.Instant) -> [UInt8]? {
        if second.map({ now - $0 >= .seconds(1) }) ?? true { (second, count, bytes) = (now, 0, nil) }
        count += 1
        return count > Self.maxRenderings ? bytes : nil
    }

    mutating func keep(_ bytes: [UInt8]) { self.bytes = bytes }
}
