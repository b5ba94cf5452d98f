import ParlorClient

/// An element of a room. Times are milliseconds since 1970.
struct StoredElement: Sendable {
    let id: String
    let type: String
    var content: JSON
    var position: JSON
    let createdBy: String
    let createdAt: Int
    var updatedBy: String
    var updatedAt: Int
    var version = 1
    let tempID: String?

    func json(in roomID: String) -> JSON {
        [
            "id": .string(id), "roomId": .string(roomID), "type": .string(type), "content": content,
            "position": position, "createdBy": .string(createdBy),
            "createdAt": .string(WireTime.milliseconds(createdAt)), "updatedBy": .string(updatedBy),
            "updatedAt": .string(WireTime.milliseconds(updatedAt)), "version": .integer(version),
            "tempId": .optional(tempID),
        ]
    }
}

/// The elements of a room, oldest first.
struct Board: Sendable {
    private(set) var elements: [StoredElement] = []
    private(set) var rev = 0
    /// The number of elements that each person has not seen, by the person's id.
    private var unseen: [String: Int] = [:]
    /// The ids of elements by `tempId`, including deleted elements.
    private var ids: [TempID: String] = [:]

    func unseen(by userID: String) -> Int { unseen[userID] ?? 0 }

    /// Returns false if the person had seen all elements before.
    mutating func see(by userID: String) -> Bool { unseen.removeValue(forKey: userID) != nil }

    /// Adds an element, or returns the earlier one with the same `tempId`.
    ///
    /// - Parameter absent: the people who do not see it.
    mutating func add(
        _ fields: JSON, by userID: String, unseenBy absent: [String], _ numbers: inout Numbers
    ) throws(Refused) -> (element: StoredElement, isNew: Bool) {
        let type = try fields.required("type")
        guard type.first?.isLowercase == true, type.utf8.count <= 32,
            type.allSatisfy({ $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "_" || $0 == "-") })
        else { throw .invalid("type", "must match [a-z][a-z0-9_-]{0,31}") }
        let tempID = try fields.tempID(of: userID)
        if let tempID, let id = ids[tempID] {
            guard let element = elements.first(where: { $0.id == id }) else { throw .notFound("element") }
            return (element, false)
        }
        let content = try Self.content(fields) ?? [:]
        let position = try Self.position(fields) ?? .null
        let time = numbers.stamp()
        let element = StoredElement(
            id: numbers.makeID(at: time), type: type, content: content, position: position, createdBy: userID,
            createdAt: time, updatedBy: userID, updatedAt: time, tempID: tempID?.text)
        elements.append(element)
        if let tempID { ids[tempID] = element.id }
        for person in absent { unseen[person, default: 0] += 1 }
        rev += 1
        return (element, true)
    }

    mutating func update(
        _ id: String, _ fields: JSON, by userID: String, _ numbers: inout Numbers
    ) throws(Refused) -> StoredElement {
        guard let index = elements.firstIndex(where: { $0.id == id }) else { throw .notFound("element") }
        if let version = fields.member("version")?.integer, version != elements[index].version {
            throw Refused(status: 409, code: "version_conflict", message: "Somebody was faster.")
        }
        let (content, position) = (try Self.content(fields), try Self.position(fields))
        guard content != nil || position != nil else { throw .invalid("content", "or position is missing") }
        if let content { elements[index].content = content }
        if let position { elements[index].position = position }
        elements[index].version += 1
        elements[index].updatedBy = userID
        elements[index].updatedAt = numbers.stamp()
        rev += 1
        return elements[index]
    }

    mutating func remove(_ id: String) throws(Refused) {
        guard let index = elements.firstIndex(where: { $0.id == id }) else { throw .notFound("element") }
        elements.remove(at: index)
        rev += 1
    }

    /// Removes all elements, and returns their number.
    mutating func clear() -> Int {
        defer { elements = [] }
        if !elements.isEmpty { rev += 1 }
        return elements.count
    }

    func page(_ query: Query, _ json: (StoredElement) -> JSON) throws(Refused) -> Answer {
        let limit = try query.limit(standard: 200, max: 500)
        let rest = elements.drop { element in query["cursor"].map { element.id <= $0 } ?? false }
        let shown = rest.prefix(limit)
        let next = rest.count > limit ? shown.last?.id : nil
        return Answer(200, .array(shown.map(json)), next: .some(next))
    }

    private static func content(_ fields: JSON) throws(Refused) -> JSON? {
        guard let content = fields.member("content") else { return nil }
        guard case .object = content else { throw .malformed("content is not an object.") }
        return content
    }

    /// Returns the request's position: `.null` removes it, nil keeps it.
    private static func position(_ fields: JSON) throws(Refused) -> JSON? {
        guard let position = fields["position"], position != .null else { return fields["position"] }
        guard case .object = position else { throw .malformed("position is not an object.") }
        for name in ["x", "y"] {
            guard let value = position.member(name) else { throw .invalid("position.\(name)", "is missing") }
            guard value.number != nil else { throw .malformed("position.\(name) is not a number.") }
        }
        return position
    }
}
