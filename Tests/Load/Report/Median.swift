extension Collection<Double> {
    /// The middle value; the mean of the two middle ones for an even count; nil if it is empty.
    var median: Double? {
        guard !isEmpty else { return nil }
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}
