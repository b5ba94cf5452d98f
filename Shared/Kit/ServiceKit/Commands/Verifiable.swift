import Storage

/// A service that keeps numbers which its other rows would give as well, if one counted: `parlor verify` does.
///
/// Each of them belongs to one room, or to one person in all rooms, and is changed in the transaction that changes what it counts: so every snapshot agrees with
/// itself, and a difference is never only the moment's.
public protocol Verifiable: Service {
    /// The ids of the rooms that it has any row of, in their order, after an id.
    static func rooms(after id: String, limit: Int, on connection: any Connection) throws -> [String]

    /// The discrepancies between one room's stored numbers and its rows.
    ///
    /// - Parameter members: the room's participants, as the service that owns rooms knows them. A
    ///   participant without a row here counts too.
    static func differences(
        in roomID: String, members: [String], on connection: any Connection
    ) throws -> [Discrepancy]

    /// The discrepancies of people's totals over all rooms. It counts everybody in one snapshot; to
    /// repair them it runs while nobody else writes. It takes about as long as all rooms together.
    static func differencesOfPeople(on connection: any Connection) throws -> [Discrepancy]
}

extension Verifiable {
    /// None: most services keep nothing of that kind.
    public static func differencesOfPeople(on connection: any Connection) throws -> [Discrepancy] { [] }
}

/// The service that owns who is in which room.
public protocol OwnsMembership: Service {
    /// Nobody, for a room that it doesn't know.
    static func members(of roomID: String, on connection: any Connection) throws -> [String]
}

/// A number that is kept, and what counting gives.
public struct Discrepancy {
    /// The name of the number, such as "unread messages of PERSON".
    public let what: String
    public let kept: String
    public let counted: String
    /// Writes the counted value, in the transaction that counted. nil if the rows do not contain
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

    /// - Parameter kept: nil if there is no row for it.
    public init(_ what: String, kept: Int?, counted: Int, repair: ((any Connection) throws -> Void)? = nil) {
        self.init(what, kept: kept.map { "\($0)" } ?? "nothing", counted: "\(counted)", repair: repair)
    }

    public var text: String { "\(what): \(kept) kept, \(counted) counted" }
}
