import Foundation

/// Which unread messages are on the screen, and since when: what is there for half a second is read. Pure.
struct VisibleMessages: Sendable {
    /// What flashes by, as one scrolls or a room fills, nobody has read.
    static let readingTime: TimeInterval = 0.5

    private var shownAt: [String: Date] = [:]

    var isEmpty: Bool { shownAt.isEmpty }

    mutating func show(_ ids: some Sequence<String>, at now: Date) {
        for id in ids where shownAt[id] == nil { shownAt[id] = now }
    }

    mutating func hide(_ ids: some Sequence<String>) { for id in ids { shownAt[id] = nil } }

    /// Only these are on the screen.
    mutating func hideAll(but ids: Set<String>) { shownAt = shownAt.filter { ids.contains($0.key) } }

    mutating func removeAll() { shownAt = [:] }

    /// While the room fills, nothing has been looked at: the time of what is shown begins anew.
    mutating func restart(at now: Date) { shownAt = shownAt.mapValues { _ in now } }

    /// When the next one is read; nil if there is none.
    var nextRead: Date? { shownAt.values.min()?.addingTimeInterval(Self.readingTime) }

    /// Those that have been on the screen for long enough; they are not kept any longer.
    mutating func takeRead(at now: Date) -> [String] {
        // Shown long after now: before the clock was set back.
        let read = shownAt.filter { abs(now.timeIntervalSince($0.value)) >= Self.readingTime }.keys.sorted()
        for id in read { shownAt[id] = nil }
        return read
    }
}
