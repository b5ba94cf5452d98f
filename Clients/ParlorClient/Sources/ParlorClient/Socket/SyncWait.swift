import Foundation

/// Decides how long a connection waits for `sync:done`. A server that does not send it counts as one without recovery.
struct SyncWait {
    /// The time in which neither an event nor `sync:done` arrives.
    static let timeout: Duration = .seconds(20)
    /// The time, in seconds, after which events alone do not prolong the wait.
    static let longest: TimeInterval = 120

    private let start: Date
    private var lastEvent: Date

    init(since start: Date = .distantPast) { (self.start, lastEvent) = (start, start) }

    mutating func noteEvent(at now: Date) { lastEvent = now }

    func isOver(at now: Date) -> Bool {
        .seconds(now.timeIntervalSince(lastEvent)) >= Self.timeout || now.timeIntervalSince(start) >= Self.longest
    }
}
