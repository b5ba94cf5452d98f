/// The result of one measurement.
struct Row: Sendable {
    let name: String
    let figures: [Figure]
    /// Lost, doubled and misordered events, in words. If there are any, the run fails.
    var faults: [String] = []
}

struct Figure: Sendable {
    enum Unit {
        case milliseconds
        case perSecond
        case count
        /// A ratio of rates to those of the machine itself, or of a peer, in the same run; higher
        /// is better.
        case ratio
        /// A ratio of times; lower is better.
        case timeRatio
        /// A ratio of the slowest times, for people only: it varies too much to be compared between
        /// runs.
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

    /// The value to compare between runs, even on a slower or busier machine; higher is better. Nil
    /// for a figure that is not compared.
    var speed: Double? {
        switch unit {
        case .ratio: value
        case .timeRatio: value > 0 ? 1 / value : nil
        case .milliseconds, .perSecond, .count, .tailRatio: nil
        }
    }
}

extension Row {
    /// Combines repeated measurements: the median of each figure, and all faults.
    init(medianOf rows: [Row]) {
        let figures = rows[0].figures.map { figure in
            let values = rows.compactMap { row in row.figures.first { $0.name == figure.name }?.value }
            return Figure(figure.name, values.median ?? figure.value, figure.unit)
        }
        self.init(name: rows[0].name, figures: figures, faults: rows.flatMap(\.faults))
    }

    /// Returns the row with the ratio of a time to another one, if there is such a figure.
    func comparing(_ name: String, to least: Double, as ratio: String) -> Row {
        guard let figure = figures.first(where: { $0.name == name }), least > 0 else { return self }
        return Row(
            name: self.name, figures: figures + [Figure(ratio, figure.value / least, .timeRatio)], faults: faults)
    }
}
