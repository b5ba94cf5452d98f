import Foundation

/// The creations of rooms without an answer, which may have succeeded: a repeated one has the same request id.
struct RoomCreations {
    /// The arguments of a call that creates a room.
    struct Arguments: Hashable {
        let userIDs: [String]
        let kind: Room.Kind
        let name: String?
    }

    private struct Attempt {
        let requestID: String
        var askedAt: Date
    }

    /// The time within which a repeated creation means the same room. Later the first room has long been shown, so the
    /// person means another one.
    private static let lifetime: TimeInterval = 5 * 60

    private var attempts: [Arguments: Attempt] = [:]

    /// Returns the request id of a creation.
    ///
    /// - Parameter id: for the first attempt.
    mutating func begin(_ arguments: Arguments, at now: Date, id: @autoclosure () -> String) -> String {
        // `abs`: the clock may have been set back.
        attempts = attempts.filter { abs(now.timeIntervalSince($0.value.askedAt)) <= Self.lifetime }
        let requestID = attempts[arguments]?.requestID ?? id()
        attempts[arguments] = Attempt(requestID: requestID, askedAt: now)
        return requestID
    }

    /// Notes that the outcome of a creation is known.
    mutating func end(_ arguments: Arguments) { attempts[arguments] = nil }
}
