import ParlorStorage

/// A service that stores numbers which can be counted from its other rows, as `parlor verify` does.
///
/// Each number belongs to one room, or to one person in all rooms, and changes in the transaction that
/// changes the counted rows. So every snapshot is consistent, and a difference is never temporary.
public protocol Verifiable: Service {
    /// Returns the ids of the rooms that it has rows for, in order, after an id.
    static func rooms(after id: String, limit: Int, on connection: any Connection) throws -> [String]

    /// Returns the discrepancies between one room's stored numbers and its rows.
    ///
    /// - Parameter members: the room's participants, as the service that owns rooms knows them; none if the room is
    ///   gone. A participant without a row here counts too. It is not called while a change of them is pending, so a row of
    ///   anybody else is a discrepancy.
    static func differences(
        in roomID: String, members: [String], on connection: any Connection
    ) throws -> [Discrepancy]

    /// Returns the discrepancies of people's totals over all rooms. It counts all people in one snapshot; for
    /// a repair it runs in a write transaction. It takes about as long as all rooms together.
    static func differencesOfPeople(on connection: any Connection) throws -> [Discrepancy]
}

extension Verifiable {
    /// Returns none, as most services store no such totals.
    public static func differencesOfPeople(on connection: any Connection) throws -> [Discrepancy] { [] }
}

/// The service that stores which people are in which room.
public protocol OwnsMembership: Service {
    /// Returns who is in a room, for a service that keeps rows about these people.
    static func people(of roomID: String, for service: String, on connection: any Connection) throws -> RoomPeople
}

/// The people in a room.
public struct RoomPeople: Equatable {
    /// The version of the room's record; 0 if there is no such room.
    public let version: Int
    public let userIDs: [String]
    /// True if a change of them is pending, or if the service has not done its part of one.
    public let isChanging: Bool

    public init(version: Int, userIDs: [String], isChanging: Bool = false) {
        self.version = version
        self.userIDs = userIDs
        self.isChanging = isChanging
    }
}

/// A stored number and the counted one.
public struct Discrepancy {
    /// The name of the number, such as "unread messages of PERSON".
    public let what: String
    public let kept: String
    public let counted: String
    /// Writes the counted value, in the transaction that counted. nil if the rows are not enough to repair
    /// it.
    public let repair: ((any Connection) throws -> Void)?

    public init(
        _ what: String, kept: String, counted: String, repair: ((any Connection) throws -> Void)? = nil
    ) {
        self.what = what
        self.kept = kept
        self.counted = counted
        self.repair = repair
    }

    /// - Parameter kept: the stored number; nil if there is no row for it.
    public init(_ what: String, kept: Int?, counted: Int, repair: ((any Connection) throws -> Void)? = nil) {
        self.init(what, kept: kept.map { "\($0)" } ?? "nothing", counted: "\(counted)", repair: repair)
    }

    public var text: String { "\(what): \(kept) kept, \(counted) counted" }
}
