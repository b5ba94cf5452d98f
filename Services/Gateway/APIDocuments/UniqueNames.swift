/// Gives each of several things a name of its own.
struct UniqueNames {
    private var taken: Set<String> = []
    /// The last number that was added to a name. Without it, the time for equal names would be quadratic.
    private var last: [String: Int] = [:]

    /// Returns the name, with a number if it is taken: `dice.list`, then `dice.list-2`.
    mutating func name(for wanted: String) -> String {
        var candidate = wanted
        while !taken.insert(candidate).inserted {
            let number = last[wanted, default: 1] + 1
            last[wanted] = number
            candidate = "\(wanted)-\(number)"
        }
        return candidate
    }
}
