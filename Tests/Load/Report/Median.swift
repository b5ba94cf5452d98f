extension Collection<Double> {
    /// The one in the middle; of an even number the mean of the two there; nil of none.
    var median: Double? {
        guard !isEmpty else { return nil }
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}
