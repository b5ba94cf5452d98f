import Foundation

/// The unread messages on the screen, and since when. After half a second a message is read. Pure.
struct VisibleMessages: Sendable {
    /// A message that is shown for less, while one scrolls or a room fills, was not read.
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

    /// While the room fills nobody reads: the time of each message begins anew.
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
