import ParlorReactor

/// The durations of a repeated operation.
struct Latencies {
    private var nanoseconds: [UInt64] = []

    var count: Int { nanoseconds.count }

    static func time(since start: LoopInstant) -> UInt64 { LoopInstant.now().nanoseconds &- start.nanoseconds }

    mutating func record(_ time: UInt64) { nanoseconds.append(time) }

    mutating func record(since start: LoopInstant) { record(Self.time(since: start)) }

    mutating func add(_ other: Latencies) { nanoseconds += other.nanoseconds }

    /// Returns a quantile in milliseconds: at least this share of all values is no larger, and no
    /// smaller value has that property. Zero if there are none.
    func quantile(_ share: Double) -> Double {
        guard !nanoseconds.isEmpty else { return 0 }
        let rank = Int((share * Double(nanoseconds.count)).rounded(.up))
        return Double(nanoseconds.sorted()[min(max(rank, 1), nanoseconds.count) - 1]) / 1e6
    }

    func count(over milliseconds: Double) -> Int { nanoseconds.count { Double($0) / 1e6 > milliseconds } }

    /// Returns p50 and p99 as a row shows them.
    func figures(named prefix: String = "") -> [Figure] {
        [Figure(prefix + "p50", quantile(0.5), .milliseconds), Figure(prefix + "p99", quantile(0.99), .milliseconds)]
    }
}
