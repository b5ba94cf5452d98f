// What gateways and other services know of Elements.

extension Subject {
    /// Those of the given elements that still exist.
    public static let existingElements = "elements.existing"
}

extension Fact {
    /// An element was put on the board of the entry's room.
    public static func elementCreated(id: String) -> Fact { Fact("elementCreated") { $0.member("id", id) } }
    /// The content or the position of an element was replaced.
    public static func elementUpdated(id: String) -> Fact { Fact("elementUpdated") { $0.member("id", id) } }
    /// An element was deleted from the board of the entry's room.
    public static func elementDeleted(id: String) -> Fact { Fact("elementDeleted") { $0.member("id", id) } }
    /// All elements were deleted from the board of the entry's room.
    public static let boardCleared = Fact("boardCleared")

    /// The id of the element that was deleted; nil for another fact.
    public var deletedElementID: String? { text("id", of: "elementDeleted") }
}

extension RateLimit {
    public static let ofElements = [
        RateLimit("elements", perPerson: 200, perAddress: 2000, seconds: 10, "Changes of elements")
    ]
}

extension ErrorCode {
    public static let elementNotFound = ErrorCode("element_not_found", 404)
    public static let versionConflict = ErrorCode("version_conflict", 409)

    static let ofElements = [elementNotFound, versionConflict]
}

extension ServiceError {
    public static let elementNotFound = ServiceError(.elementNotFound, "There is no such element in this room.")
}
