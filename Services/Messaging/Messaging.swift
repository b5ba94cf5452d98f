import Contracts
import MessageBus
import Security
import ServiceKit
import Storage

/// What the use cases work with; each has a file of its own.
struct Messaging: Sendable {
    let database: any Database
    let bus: any MessageBus
    let memberships: Memberships
    let clock: any WallClock
    let ids: UUIDv7Generator

    /// Messages in a page when the caller doesn't say, and at most.
    static let standardPage = 50
    static let maxPage = 200

    static func position(_ seq: Int) -> StreamPosition { StreamPosition(stream: MessagingService.name, seq: seq) }
}
