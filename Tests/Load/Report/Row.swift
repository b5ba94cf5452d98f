/// What one measurement found.
struct Row: Sendable {
    let name: String
    let figures: [Figure]
    /// What was lost, came twice or in the wrong order, in words. With any, the run fails.
    var faults: [String] = []
}

struct Figure: Sendable {
    enum Unit {
        case milliseconds
        case perSecond
        case count
        /// To what the machine itself, or a peer, did in the same run: of rates, the more the better.
        case ratio
        /// The same of times, the less the better.
        case timeRatio
        /// The same of the slowest: for people to read, and not to be held against another run's, as none is like the next.
        case tailRatio
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

    /// What can be held against another run's, on a machine that is slower or has more to do: the more the better. nil for what is
    /// no ratio.
    var speed: Double? {
        switch unit {
        case .ratio: value
        case .timeRatio: value > 0 ? 1 / value : nil
        case .milliseconds, .perSecond, .count, .tailRatio: nil
        }
    }
}

extension Row {
    /// The same measurement made several times: of each figure the median, and all faults.
    init(medianOf rows: [Row]) {
        let figures = rows[0].figures.map { figure in
            let values = rows.compactMap { row in row.figures.first { $0.name == figure.name }?.value }
            return Figure(figure.name, values.median ?? figure.value, figure.unit)
        }
        self.init(name: rows[0].name, figures: figures, faults: rows.flatMap(\.faults))
    }

    /// With the ratio of a time to another one, if there is such a figure.
    func comparing(_ name: String, to least: Double, as ratio: String) -> Row {
        guard let figure = figures.first(where: { $0.name == name }), least > 0 else { return self }
        return Row(
            name: self.name, figures: figures + [Figure(ratio, figure.value / least, .timeRatio)], faults: faults)
    }
}
