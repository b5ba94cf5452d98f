import ParlorContracts
import ParlorServiceKit

/// The limits of the rooms that a person may create. No one can leave a room, and people in many rooms have
/// long lists.
struct RoomQuota: Sendable {
    let maxRooms: Int
    let maxUnanswered: Int

    static let maxRooms = Setting(
        "MAX_ROOMS_PER_PERSON", .number(1...1_000_000), default: "5000", in: .limits,
        "Maximum number of rooms that a person may create")
    static let maxUnanswered = Setting(
        "MAX_UNANSWERED_ROOMS", .number(1...1_000_000), default: "20", in: .tuning,
        "Maximum number of rooms that a person may create with someone who has never answered, by a message or a room"
    )

    init(_ configuration: Configuration) {
        let isOn = configuration[.rateLimits]
        maxRooms = isOn ? configuration[Self.maxRooms] : .max
        maxUnanswered = isOn ? configuration[Self.maxUnanswered] : .max
    }

    /// The numbers of rooms created so far.
    struct Made: Sendable {
        /// The rooms created by the person, with anyone.
        let all: Int
        /// The rooms that the person created with the other person.
        let withOther: Int
        /// The rooms that the other person created with this person.
        let byOther: Int
    }

    /// Returns true if the other person must have written before one more room is created.
    func needsAnswer(_ made: Made) -> Bool { made.withOther >= maxUnanswered && made.byOther == 0 }

    /// - Throws: `payload_too_large` for too many rooms, `rate_limited` for too many without an answer.
    func check(_ made: Made, isAnswered: Bool) throws(ServiceError) {
        guard made.all < maxRooms else {
            throw ServiceError(.payloadTooLarge, "You have made \(maxRooms) rooms, which is the limit.")
        }
        guard isAnswered || !needsAnswer(made) else {
            throw ServiceError(
                .rateLimited, "You have made \(maxUnanswered) rooms with this person, who has not written in any yet.",
                retryAfter: Self.retryAfter)
        }
    }

    /// The seconds to wait. It is unknown when the other answers: this is often enough for a person, and rare
    /// enough for a program.
    private static let retryAfter = 600
}
