/// What one measurement found.
struct Row: Sendable {
    let name: String
    let figures: [Figure]
    /// What was lost, came twice or in the wrong order, in words. With any, the run fails.
    var faults: [String] = []
}

struct Figure: Sendable {
    enum Unit: String {
        case milliseconds = "ms"
        case perSecond = "/s"
        case count = ""
        case ratio = ":1"
    }

    let name: String
    let value: Double
    let unit: Unit

    init(_ name: String, _ value: Double, _ unit: Unit) {
        self.name = name
        self.value = value
        self.unit = unit
    }

    init(_ name: String, _ count: Int) { self.init(name, Double(count), .count) }
}
