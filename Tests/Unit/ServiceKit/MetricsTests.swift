import Testing

@testable import ParlorServiceKit

@Suite("metrics")
struct MetricsTests {
    @Test("a reader that asks ten times a second gets current values, and a faster one values of the last second")
    func page() {
        let metrics = Metrics()
        let counter = metrics.counter("asked_total", "Times.")
        let start = ContinuousClock.now
        func read(at time: Duration) -> String { String(decoding: metrics.page(at: start + time), as: UTF8.self) }
        for count in 1...10 {
            counter.add()
            #expect(read(at: .milliseconds(count)).contains("asked_total \(count)\n"))
        }
        for count in 11...100 {
            counter.add()
            #expect(read(at: .milliseconds(900 + count)).contains("asked_total 10\n"))
        }
        #expect(read(at: .milliseconds(1001)).contains("asked_total 100\n"))
    }

    /// Checks the grammar of Prometheus' text exposition format 0.0.4 line by line, and that a
    /// family's lines are together, after its HELP and TYPE.
    private static func check(_ text: String, _ location: SourceLocation = #_sourceLocation) throws {
        let name = /[a-zA-Z_:][a-zA-Z0-9_:]*/
        let help = /# HELP (?<name>[a-zA-Z_:][a-zA-Z0-9_:]*) (?:[^\\\n]|\\\\|\\n)*/
        let type = /# TYPE (?<name>[a-zA-Z_:][a-zA-Z0-9_:]*) (?:counter|gauge|histogram)/
        let sample =
            /(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?<labels>(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)+)\})? (?:[-+]?[0-9.]+(?:e[-+]?[0-9]+)?|[-+]Inf|NaN)/
        #expect(text.hasSuffix("\n"), sourceLocation: location)
        var seen: Set<String> = []
        var series: Set<String> = []
        var family = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if let match = line.wholeMatch(of: help) {
                family = String(match.name)
                #expect(seen.insert(family).inserted, "\(family) is there twice", sourceLocation: location)
                #expect(family.wholeMatch(of: name) != nil, sourceLocation: location)
            } else if let match = line.wholeMatch(of: type) {
                #expect(match.name == family, sourceLocation: location)
            } else {
                let match = try #require(line.wholeMatch(of: sample), "\(line)", sourceLocation: location)
                let suffixes = ["", "_bucket", "_sum", "_count"]
                #expect(suffixes.contains { family + $0 == match.name }, "\(line)", sourceLocation: location)
                let identity = "\(match.name){\(match.labels ?? "")}"
                #expect(series.insert(identity).inserted, "\(identity) is there twice", sourceLocation: location)
            }
        }
    }

    @Test("all kinds, with labels and without, are written in the format's grammar")
    func grammar() throws {
        let metrics = Metrics()
        metrics.counter("parlor_requests_total", "Requests.", labels: ["service": "rooms"]).add(3)
        metrics.histogram("parlor_seconds", "How long.", labels: ["service": "rooms", "loop": "0"]).observe(.seconds(1))
        metrics.histogram("parlor_seconds", "How long.").observe(.milliseconds(3))
        metrics.counter("parlor_requests_total", "Requests.", labels: ["service": "elements"]).add()
        for (index, value) in [0, -1.5, 1e-9, 1e300, .infinity, -.infinity, .nan].enumerated() {
            metrics.gauge("parlor_gauge_\(index)", "A value.") { value }
        }
        try Self.check(metrics.text())
        #expect(metrics.text().contains("parlor_gauge_4 +Inf\n"))
        #expect(metrics.text().contains("parlor_gauge_5 -Inf\n"))
        #expect(metrics.text().contains("parlor_gauge_6 NaN\n"))
    }

    @Test("a help text and a label's value may contain anything")
    func escapes() throws {
        let metrics = Metrics()
        metrics.counter("parlor_odd_total", "Two\nlines, a \\ and \"quotes\".", labels: ["path": "C:\\x\n\"y\""]).add()
        try Self.check(metrics.text())
        #expect(
            metrics.text() == #"""
                # HELP parlor_odd_total Two\nlines, a \\ and "quotes".
                # TYPE parlor_odd_total counter
                parlor_odd_total{path="C:\\x\n\"y\""} 1

                """#)
    }

    @Test("one name with one set of labels is one metric")
    func same() {
        let metrics = Metrics()
        metrics.counter("parlor_a_total", "A.", labels: ["service": "x"]).add(2)
        metrics.counter("parlor_a_total", "A.", labels: ["service": "x"]).add(3)
        #expect(metrics.counter("parlor_a_total", "A.", labels: ["service": "x"]).current == 5)
        #expect(metrics.counter("parlor_a_total", "A.", labels: ["service": "y"]).current == 0)
    }

    @Test("a histogram's buckets add up, a bound belongs to its bucket, and the sum is in seconds")
    func histogram() {
        let metrics = Metrics()
        let histogram = metrics.histogram("parlor_seconds", "How long.")
        for duration: Duration in [.microseconds(100), .microseconds(101), .milliseconds(1), .seconds(60)] {
            histogram.observe(duration)
        }
        let lines = metrics.text().split(separator: "\n").map(String.init)
        #expect(lines.contains(#"parlor_seconds_bucket{le="0.0001"} 1"#))
        #expect(lines.contains(#"parlor_seconds_bucket{le="0.00025"} 2"#))
        #expect(lines.contains(#"parlor_seconds_bucket{le="0.001"} 3"#))
        #expect(lines.contains(#"parlor_seconds_bucket{le="10.0"} 3"#))
        #expect(lines.contains(#"parlor_seconds_bucket{le="+Inf"} 4"#))
        #expect(lines.contains("parlor_seconds_sum 60.001201"))
        #expect(lines.contains("parlor_seconds_count 4"))
    }

    @Test("a gauge may use the metrics that it belongs to")
    func reentrant() {
        let metrics = Metrics()
        metrics.gauge("parlor_gauge", "A value.") { [unowned metrics] in
            Double(metrics.counter("parlor_late_total", "Made late.").current)
        }
        #expect(metrics.text().contains("parlor_gauge 0.0\n"))
        #expect(metrics.text().contains("parlor_late_total 0\n"))
    }

    @Test("a count that another object keeps is a counter")
    func kept() {
        let metrics = Metrics()
        metrics.counter("parlor_made_total", "Made.") { 3 }
        #expect(metrics.text().contains("# TYPE parlor_made_total counter\nparlor_made_total 3\n"))
    }

    @Test("a process reports plausible figures of its resources")
    func process() throws {
        let metrics = Metrics()
        metrics.watchProcess()
        try Self.check(metrics.text())
        func value(_ name: String) throws -> Double {
            let line = try #require(metrics.text().split(separator: "\n").first { $0.hasPrefix("\(name) ") })
            return try #require(Double(line.dropFirst(name.count + 1)))
        }
        #expect(try value("process_resident_memory_bytes") > 1e6)
        #expect(try value("process_start_time_seconds") > 1.6e9)
        let before = try value("process_cpu_seconds_total")
        // Work until the clock of the processor has moved.
        while try value("process_cpu_seconds_total") <= before {}
    }

    @Test("impossible times are counted, and crash no program")
    func absurdTimes() throws {
        let metrics = Metrics()
        let histogram = metrics.histogram("parlor_seconds", "How long.")
        for _ in 0..<3 { histogram.observe(.seconds(Int64.max)) }
        histogram.observe(.seconds(-1))
        let lines = Set(metrics.text().split(separator: "\n"))
        #expect(lines.contains("parlor_seconds_count 4") && lines.contains("parlor_seconds_sum 259200.0"))
        #expect(lines.contains("parlor_seconds_bucket{le=\"10.0\"} 1"))
        try Self.check(metrics.text())
    }
}
