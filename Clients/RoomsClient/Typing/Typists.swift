import Foundation

/// Who else types in a room: until they stop, or their message comes. The server sends the end, three seconds after the last
/// renewal, and passes no renewals on; ``lifetime`` is a guard for an end that was lost.
public struct Typists: Equatable, Sendable {
    public static let lifetime: TimeInterval = 30

    private struct Typist: Equatable {
        var userID: String
        var lastTypedAt: Date
    }

    private let ownID: String
    private var typists: [Typist] = []

    public init(ownID: String) { self.ownID = ownID }

    /// In the order they began.
    public var userIDs: [String] { typists.map(\.userID) }

    /// When the next one is pruned; nil if nobody types.
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

    /// Their message has come.
    public mutating func end(_ userID: String) { typists.removeAll { $0.userID == userID } }

    /// One that was heard long after now was so before the clock was set back.
    public mutating func prune(at now: Date) {
        typists.removeAll { abs(now.timeIntervalSince($0.lastTypedAt)) >= Self.lifetime }
    }

    /// The connection is lost, and with it any word of an end.
    public mutating func removeAll() { typists = [] }
}
