import Foundation

/// The others who type in a room, until they stop or their message arrives. The server sends the end three
/// seconds after the last renewal, but no renewals. ``lifetime`` covers a lost end.
public struct Typists: Equatable, Sendable {
    public static let lifetime: TimeInterval = 30

    private struct Typist: Equatable {
        var userID: String
        var lastTypedAt: Date
    }

    private let ownID: String
    private var typists: [Typist] = []

    public init(ownID: String) { self.ownID = ownID }

    /// The people, in the order they began.
    public var userIDs: [String] { typists.map(\.userID) }

    /// The time at which the next one is pruned; nil if nobody types.
    public var nextEnd: Date? { typists.map(\.lastTypedAt).min()?.addingTimeInterval(Self.lifetime) }

    public mutating func note(_ userID: String, isTyping: Bool, at now: Date) {
        guard userID != ownID else { return }
        guard isTyping else { return end(userID) }
        if let index = typists.firstIndex(where: { $0.userID == userID }) {
            typists[index].lastTypedAt = now
        } else {
            typists.append(Typist(userID: userID, lastTypedAt: now))
        }
    }

    /// Ends a typing whose message has arrived.
    public mutating func end(_ userID: String) { typists.removeAll { $0.userID == userID } }

    /// Removes those whose end was lost. `abs` is for times from before the clock was set back.
    public mutating func prune(at now: Date) {
        typists.removeAll { abs(now.timeIntervalSince($0.lastTypedAt)) >= Self.lifetime }
    }

    /// Removes everyone: a lost connection delivers no ends.
    public mutating func removeAll() { typists = [] }
}
