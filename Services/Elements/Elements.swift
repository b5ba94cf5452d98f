import Contracts
import Security
import ServiceKit

/// The elements of all rooms. Each use case is an extension in a file of its own.
struct Elements: Sendable {
    let database: ElementsDatabase
    let ids: UUIDv7Generator
    let clock: any WallClock
    let watch: GatewayWatch

    /// Where in the event log an answer belongs: after this entry.
    static func position(_ seq: Int) -> StreamPosition { StreamPosition(stream: ElementsService.name, seq: seq) }
}
