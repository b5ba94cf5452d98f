import Synchronization

/// Counters, gauges and histograms, rendered as Prometheus text (exposition format 0.0.4).
///
/// Names and labels are chosen by the program, never by a person's input: no ids, no paths with ids in them.
public final class Metrics: Sendable {
    private let families = Mutex<[Family]>([])
    private let page = Mutex(MetricsPage())

    public init() {}

    /// Registers a count that only rises. Names of counters end in `_total`; other names do not.
    public func counter(_ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:]) -> Counter {
        add(name, help, "counter", labels) { Counter() }
    }

    /// Registers a count that is maintained elsewhere.
    ///
    /// - Parameter read: called on any thread when the metrics are rendered; must not block.
    public func counter(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        _ read: @escaping @Sendable () -> Int
    ) {
        _ = add(name, help, "counter", labels) { ReadMetric { "\(read())" } }
    }

    /// Registers a time in seconds that is maintained elsewhere; `read` as above.
    public func counter(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        seconds read: @escaping @Sendable () -> Double
    ) {
        _ = add(name, help, "counter", labels) { ReadMetric { read().asMetric } }
    }

    /// Registers a value that is read when the metrics are rendered. It may fall: a value that only rises is
    /// a counter.
    ///
    /// - Parameter read: called on any thread; must not block.
    public func gauge(
        _ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:],
        _ read: @escaping @Sendable () -> Double
    ) {
        _ = add(name, help, "gauge", labels) { ReadMetric { read().asMetric } }
    }

    /// Registers a histogram of durations in seconds, with buckets from 0.1 ms to 10 s.
    public func histogram(_ name: String, _ help: String, labels: KeyValuePairs<String, String> = [:]) -> Histogram {
        add(name, help, "histogram", labels) { Histogram() }
    }

    public func text() -> String {
        // Read gauges after the lock is released, as their closures are unknown here.
        families.withLock { $0 }.map { family in
            "# HELP \(family.name) \(family.help.escaped(quotes: false))\n# TYPE \(family.name) \(family.type)\n"
                + family.series.map { $0.metric.lines(name: family.name, labels: $0.labels) }.joined()
        }.joined()
    }

    /// Returns the text as bytes. It is rendered at most ten times a second; other requests in that second get the
    /// last rendering. Rendering takes half a millisecond of the loop that answers, and anyone may ask.
    public func page(at now: ContinuousClock.Instant = .now) -> [UInt8] {
        if let kept = page.withLock({ $0.take(at: now) }) { return kept }
        let bytes = Array(text().utf8)
        page.withLock { $0.keep(bytes) }
        return bytes
    }

    private struct Family: Sendable {
        let name: String, help: String, type: String
        var series: [(labels: String, metric: any Metric)] = []
    }

    private func add<M: Metric>(
        _ name: String, _ help: String, _ type: String, _ labels: KeyValuePairs<String, String>, _ make: () -> M
    ) -> M {
        guard name.hasSuffix("_total") == (type == "counter") else { fatalError("\(name) is not a name of a \(type)") }
        let written = labels.map { "\($0)=\"\($1.escaped(quotes: true))\"" }.joined(separator: ",")
        return families.withLock { families in
            let index = families.firstIndex { $0.name == name } ?? families.endIndex
            if index == families.endIndex { families.append(Family(name: name, help: help, type: type)) }
            guard families[index].type == type else { fatalError("\(name) is a \(families[index].type) already") }
            if let known = families[index].series.first(where: { $0.labels == written })?.metric as? M { return known }
            let metric = make()
            families[index].series.append((written, metric))
            return metric
        }
    }
}

protocol Metric: Sendable {
    /// Returns whole lines, each with its newline.
    func lines(name: String, labels: String) -> String
}

public final class Counter: Metric {
    private let value = Atomic<Int>(0)

    public func add(_ count: Int = 1) { value.wrappingAdd(count, ordering: .relaxed) }
    public var current: Int { value.load(ordering: .relaxed) }

    func lines(name: String, labels: String) -> String { "\(name)\(braced(labels)) \(current)\n" }
}

/// A value that is maintained elsewhere.
private final class ReadMetric: Metric {
    private let read: @Sendable () -> String

    init(_ read: @escaping @Sendable () -> String) { self.read = read }

    func lines(name: String, labels: String) -> String { "\(name)\(braced(labels)) \(read())\n" }
}

public final class Histogram: Metric {
    /// The upper bounds in microseconds.
    private static let bounds = [
        100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
        10_000_000,
    ]
    /// The longest time that is counted. A longer one can only come from a wrong clock. It counts as this time, so that
    /// sums do not overflow.
    private static let longest: Duration = .seconds(86_400)
    private struct State { var buckets = [Int](repeating: 0, count: Histogram.bounds.count), sum = 0, count = 0 }
    private let state = Mutex(State())

    /// Adds a time. A negative one counts as zero.
    public func observe(_ duration: Duration) {
        let (seconds, attoseconds) = min(max(duration, .zero), Self.longest).components
        let microseconds = Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
        state.withLock { state in
            state.sum += microseconds
            state.count += 1
            if let bucket = Self.bounds.firstIndex(where: { microseconds <= $0 }) { state.buckets[bucket] += 1 }
        }
    }

    func lines(name: String, labels: String) -> String {
        let state = state.withLock { $0 }
        var text = ""
        var below = 0
        let prefix = labels.isEmpty ? "" : labels + ","
        for (bound, count) in zip(Self.bounds, state.buckets) {
            below += count
            text += "\(name)_bucket{\(prefix)le=\"\(Double(bound) / 1_000_000)\"} \(below)\n"
        }
        text += "\(name)_bucket{\(prefix)le=\"+Inf\"} \(state.count)\n"
        text += "\(name)_sum\(braced(labels)) \(Double(state.sum) / 1_000_000)\n"
        text += "\(name)_count\(braced(labels)) \(state.count)\n"
        return text
    }
}

extension Double {
    /// The number as the format requires it. Infinities and NaN are written as in Go.
    fileprivate var asMetric: String {
        if isNaN { return "NaN" }
        return isInfinite ? (self < 0 ? "-Inf" : "+Inf") : "\(self)"
    }
}

extension String {
    /// Returns the text with the format's escapes: backslash and newline in a help text, and also double
    /// quotes in a label's value.
    fileprivate func escaped(quotes: Bool) -> String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\"" where quotes: text += "\\\""
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

private func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }
