/// The metrics as they were last composed, for whoever asks often.
struct MetricsPage {
    /// How many times a second they are composed.
    static let maxRenderings = 10

    private var bytes: [UInt8]?
    private var second: ContinuousClock.Instant?
    private var count = 0

    /// nil if they are to be composed anew.
    mutating func take(at now: ContinuousClock.Instant) -> [UInt8]? {
        if second.map({ now - $0 >= .seconds(1) }) ?? true { (second, count, bytes) = (now, 0, nil) }
        count += 1
        return count > Self.maxRenderings ? bytes : nil
    }

    mutating func keep(_ bytes: [UInt8]) { self.bytes = bytes }
}
