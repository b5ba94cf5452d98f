import Foundation

/// The items on the screen, and the time at which each unread message among them appeared. After half a second such a
/// message counts as read.
struct VisibleMessages: Sendable {
    /// The time after which a shown message counts as read. One that only scrolls past is shown for less.
    static let readingTime: TimeInterval = 0.5

    /// The time that a screen has to draw a message which arrives: enough for an animation.
    static let drawingTime: TimeInterval = 1

    private var shown: Set<MessageItem.ID> = []
    /// The messages of others that have arrived at the end of the messages, while it was on the screen.
    private var arrivedAt: [String: Date] = [:]
    /// True if the end of the messages was on the screen when it was last asked for.
    private(set) var isAtEnd = false
    private var shownAt: [String: Date] = [:]

    /// True if no unread message is on the screen.
    var isEmpty: Bool { shownAt.isEmpty }

    /// True while messages that have arrived may not be drawn yet.
    var isDrawing: Bool { !arrivedAt.isEmpty }

    mutating func arrive(_ id: String, at now: Date) { arrivedAt[id] = now }

    /// Returns the unread messages that are on the screen or may be about to appear there; nil if the newest message is
    /// not there.
    mutating func end(of items: MessageItems, at now: Date) -> Set<String>? {
        arrivedAt = arrivedAt.filter { abs(now.timeIntervalSince($0.value)) < Self.drawingTime }
        let last = items.last { shown.contains($0.id) || arrivedAt[$0.id] == nil }
        isAtEnd = last.map { shown.contains($0.id) } ?? false
        return isAtEnd ? Set(shownAt.keys).union(arrivedAt.keys) : nil
    }

    mutating func show(_ items: some Sequence<MessageItem>, unread: some Sequence<String>, at now: Date) {
        shown.formUnion(items.map(\.id))
        for id in unread where shownAt[id] == nil { shownAt[id] = now }
    }

    mutating func hide(_ items: some Sequence<MessageItem>) {
        for item in items {
            shown.remove(item.id)
            if let id = item.message?.id { shownAt[id] = nil }
        }
    }

    /// Hides all items but these.
    mutating func hideAll(but items: [MessageItem], unread: [String]) {
        shown.formIntersection(items.map(\.id))
        let unread = Set(unread)
        shownAt = shownAt.filter { unread.contains($0.key) }
    }

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
