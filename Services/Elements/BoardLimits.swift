import ParlorContracts
import ParlorServiceKit

/// The limits of one room's board, and of one person's elements on all boards.
struct BoardLimits: Sendable {
    let room: Amount
    let person: Amount

    /// A number of elements, and their bytes.
    struct Amount: Sendable {
        let elements: Int
        let bytes: Int

        var text: String { "\(elements) elements and \(bytes / 1024) KiB" }
    }

    // A client shows all elements, and loads all of them when it opens the room.
    static let maxRoomElements = Setting(
        "MAX_ROOM_ELEMENTS", .number(1...1_000_000), default: "5000", in: .limits,
        "Maximum number of elements in a room")
    static let maxRoomBytes = Setting(
        "MAX_ROOM_BYTES", .size(128 << 10...1 << 30), default: "32m", in: .limits,
        "Maximum total size of a room's elements, in bytes")
    static let maxPersonElements = Setting(
        "MAX_PERSON_ELEMENTS", .number(1...1_000_000_000), default: "100000", in: .tuning,
        "Maximum number of a person's elements in all rooms")
    static let maxPersonBytes = Setting(
        "MAX_PERSON_BYTES", .size(128 << 10...1 << 40), default: "512m", in: .tuning,
        "Maximum total size of a person's elements in all rooms, in bytes")

    static let settings: [any AnySetting] = [
        Setting.rateLimits, maxRoomElements, maxRoomBytes, maxPersonElements, maxPersonBytes,
    ]

    init(_ configuration: Configuration) {
        room = Amount(elements: configuration[Self.maxRoomElements], bytes: configuration[Self.maxRoomBytes])
        guard configuration[.rateLimits] else {
            person = Amount(elements: .max, bytes: .max)
            return
        }
        person = Amount(elements: configuration[Self.maxPersonElements], bytes: configuration[Self.maxPersonBytes])
    }

    var roomIsFull: ServiceError {
        ServiceError(.payloadTooLarge, "The room is full: it holds at most \(room.text). Delete some elements first.")
    }

    var personIsFull: ServiceError {
        ServiceError(
            .payloadTooLarge, "You have reached your limit, \(person.text) in all rooms. Delete some first.")
    }
}
