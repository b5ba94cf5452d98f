import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The limits of the rooms that a person may create, and of the people whom they may bring into groups. People in many
/// rooms have long lists.
struct RoomQuota: Sendable {
    let maxRooms: Int
    let maxUnanswered: Int
    let additions: Rate

    static let maxRooms = Setting(
        "MAX_ROOMS_PER_PERSON", .number(1...1_000_000), default: "5000", in: .limits,
        "Maximum number of rooms that a person may create")
    static let maxUnanswered = Setting(
        "MAX_UNANSWERED_ROOMS", .number(1...1_000_000), default: "20", in: .tuning,
        "Maximum number of rooms that a person may create with someone who has never answered, by a message or a room"
    )

    static let additions = Setting(
        "RATE_ADDS", .addressRate, default: "500/1h", in: .limits, "People whom a person brings into groups")

    init(_ configuration: Configuration) {
        let isOn = configuration[.rateLimits]
        additions = isOn ? configuration[Self.additions] : Rate(perPerson: .max, perAddress: .max, window: .seconds(1))
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

    /// Counts rooms as made with other people: one room, or one to which they are added.
    ///
    /// - Parameters:
    ///   - answered: the people who have written to this person.
    ///   - isGroup: true if they count as brought into a group.
    /// - Throws: the errors of `check`; `rate_limited` for too many additions.
    func take(
        _ others: [String], by personID: String, answered: Set<String>, isGroup: Bool, at now: Timestamp,
        on connection: any Connection
    ) throws {
        let store = RoomsStore(connection)
        for other in others {
            try check(try store.made(by: personID, with: other), isAnswered: answered.contains(other))
            try store.countMade(by: personID, with: other)
        }
        guard isGroup, additions.perPerson < .max else { return }
        let start = now.adding(.zero - additions.personWindow)
        let changes = PendingChangesStore(connection)
        let earlier = try changes.additions(by: personID, since: start)
        guard earlier.count + others.count <= additions.perPerson else {
            let end = (earlier.first ?? now).adding(additions.personWindow)
            throw ServiceError(
                .rateLimited, "You have brought many people into groups. Try again later.",
                retryAfter: max(1, (end.milliseconds - now.milliseconds + 999) / 1000))
        }
        try changes.addAddition(of: others.count, by: personID, at: now, forgetting: start)
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
