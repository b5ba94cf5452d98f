import Contracts

/// What a room's board has come to with a change.
struct BoardState: Sendable, Equatable {
    let elementCount: Int
    /// Rises by one with each change.
    let rev: Int
    /// When it was changed: never earlier than the change before, also when a clock goes back.
    let changedAt: Timestamp
}
