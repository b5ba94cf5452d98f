import Contracts
import ServiceKit

/// How much lies on a room's board at most.
struct BoardLimits: Sendable {
    let maxElements: Int
    let maxBytes: Int

    // A client shows all of them, and loads them whole when it opens the room.
    static let maxElements = Setting(
        "MAX_ROOM_ELEMENTS", .number(1...1_000_000), default: "5000", "How many elements a room may have")
    static let maxBytes = Setting(
        "MAX_ROOM_BYTES", .size(128 << 10...1 << 30), default: "32m", "How many bytes a room's elements may have in all"
    )

    init(_ configuration: Configuration) {
        maxElements = configuration.number(Self.maxElements.name)
        maxBytes = configuration.number(Self.maxBytes.name)
    }

    var refusal: ServiceError {
        ServiceError(
            .payloadTooLarge,
            "The room is full: it takes \(maxElements) elements and \(maxBytes / 1024) KiB. Delete some first.")
    }
}
