/// Until when something sleeps that looks for what is late.
package struct ExpiryWatch {
    private var due: Duration?

    package init() {}

    package func isLate(for next: Duration?) -> Bool {
        guard let next else { return false }
        return due.map { next < $0 } ?? true
    }

    /// - Returns: when it is to wake up, if that is sooner than it would. From then on it does.
    package mutating func move(to next: Duration?) -> Duration? {
        guard isLate(for: next) else { return nil }
        due = next
        return next
    }

    /// It has woken up, or never will.
    package mutating func end() { due = nil }
}
