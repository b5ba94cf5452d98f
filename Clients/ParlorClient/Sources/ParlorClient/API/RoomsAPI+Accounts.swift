import Foundation

extension RoomsAPI {
    /// Returns the signed-in person.
    public func me() async throws -> Person {
        try await value(of: try HTTPRequest("GET", to: ["users", "me"]))
    }

    /// Returns a page of the people who share no room with the caller, sorted by username.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the username or the first name; nil for everyone.
    ///   - cursor: the ``Page/next`` of the previous page; nil for the first.
    package func peopleWithoutRooms(
        matching prefix: String? = nil, limit: Int? = nil, cursor: String? = nil
    ) async throws -> Page<Person> {
        try await page(
            of: try HTTPRequest(
                "GET", to: ["users", "without-rooms"],
                query: [("q", prefix), ("limit", limit.map { String($0) }), ("cursor", cursor)]))
    }
}
