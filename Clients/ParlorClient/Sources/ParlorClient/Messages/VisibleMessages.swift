import Foundation

/// The unread messages on the screen, and the time at which each appeared. After half a second a message counts as
/// read.
struct VisibleMessages: Sendable {
    /// The time after which a shown message counts as read. One that only scrolls past is shown for less.
    static let readingTime: TimeInterval = 0.5

    private var shownAt: [String: Date] = [:]

    var isEmpty: Bool { shownAt.isEmpty }

    mutating func show(_ ids: some Sequence<String>, at now: Date) {
        for id in ids where shownAt[id] == nil { shownAt[id] = now }
    }

    mutating func hide(_ ids: some Sequence<String>) { for id in ids { shownAt[id] = nil } }

    /// Hides all messages but these.
    mutating func hideAll(but ids: Set<String>) { shownAt = shownAt.filter { ids.contains($0.key) } }

    mutating func removeAll() { shownAt = [:] }

    /// Restarts the time of each message, because nobody reads while the room loads.
    mutating func restart(at now: Date) { shownAt = shownAt.mapValues { _ in now } }

    /// The time at which the next message counts as read; nil if there is none.
    var nextRead: Date? { shownAt.values.min()?.addingTimeInterval(Self.readingTime) }

    /// Removes and returns the messages that were on the screen for long enough.
    mutating func takeRead(at now: Date) -> [String] {
        // The difference is negative if the clock was set back. Such a message counts as read, too.
        let read = shownAt.filter { abs(now.timeIntervalSince($0.value)) >= Self.readingTime }.keys.sorted()
        for id in read { shownAt[id] = nil }
        return read
    }
}
