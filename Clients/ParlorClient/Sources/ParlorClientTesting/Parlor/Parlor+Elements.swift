import ParlorClient

extension Parlor {
    mutating func makeElement(_ fields: JSON, in roomID: String?, by userID: String) throws(Refused) -> Answer {
        var room = try room(roomID, of: userID)
        let type = try fields.required("type")
        guard type.first?.isLowercase == true, type.utf8.count <= 32,
            type.allSatisfy({ $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "_" || $0 == "-") })
        else { throw .invalid("type", "must match [a-z][a-z0-9_-]{0,31}") }
        let tempID = try fields.tempID()
        let key = tempID.map { RoomState.TempID(userID: userID, text: $0) }
        if let key, let id = room.elementsByTempID[key] {
            guard let element = room.elements.first(where: { $0.id == id }) else { throw .notFound("element") }
            return Answer(200, Self.json(element, in: room), isDuplicate: true)
        }
        let content = try Self.content(fields) ?? .object([:])
        let position = try Self.position(fields) ?? .null
        let time = stamp()
        let element = RoomState.StoredElement(
            id: makeID(at: time), type: type, content: content, position: position, createdBy: userID, createdAt: time,
            updatedBy: userID, updatedAt: time, tempID: tempID)
        room.elements.append(element)
        if let key { room.elementsByTempID[key] = element.id }
        for person in room.others(than: userID) where !isPresent(person, in: room.id) {
            room.unseen[person, default: 0] += 1
        }
        let payload = Self.json(element, in: room)
        emit("element:created", .object(["element": payload]), to: .room, in: room.id, namesRoom: false)
        emitElementsChanged(
            "element:created:global",
            ["elementId": .string(element.id), "createdBy": .string(userID), "type": .string(type)], in: &room, at: time
        )
        return Answer(201, payload)
    }

    mutating func updateElement(
        _ id: String?, _ fields: JSON, in roomID: String?, by userID: String
    ) throws(Refused) -> Answer {
        var room = try room(roomID, of: userID)
        guard let index = room.elements.firstIndex(where: { $0.id == id }) else { throw .notFound("element") }
        var element = room.elements[index]
        if let version = fields.member("version")?.integer, version != element.version {
            throw Refused(status: 409, code: "version_conflict", message: "Somebody was faster.")
        }
        let (content, position) = (try Self.content(fields), try Self.position(fields))
        guard content != nil || position != nil else { throw .invalid("content", "or position is missing") }
        element.content = content ?? element.content
        element.position = position ?? element.position
        element.version += 1
        element.updatedBy = userID
        element.updatedAt = stamp()
        room.elements[index] = element
        let payload = Self.json(element, in: room)
        emit("element:updated", .object(["element": payload]), to: .room, in: room.id, namesRoom: false)
        emitElementsChanged(
            "element:updated:global", ["elementId": .string(element.id), "updatedBy": .string(userID)], in: &room,
            at: element.updatedAt)
        return Answer(200, payload)
    }

    mutating func deleteElement(_ id: String?, in roomID: String?, by userID: String) throws(Refused) -> Answer {
        var room = try room(roomID, of: userID)
        guard let id, let index = room.elements.firstIndex(where: { $0.id == id }) else { throw .notFound("element") }
        room.elements.remove(at: index)
        let payload: [String: JSON] = ["elementId": .string(id), "deletedBy": .string(userID)]
        emit("element:deleted", .object(payload), to: .room, in: room.id)
        emitElementsChanged("element:deleted:global", payload, in: &room, at: stamp())
        return Answer(204)
    }

    mutating func clear(_ roomID: String?, by userID: String) throws(Refused) -> Answer {
        var room = try room(roomID, of: userID)
        let count = room.elements.count
        let answer = Answer(200, .object(["deletedCount": .integer(count)]))
        guard count > 0 else { return answer }
        room.elements = []
        let payload: [String: JSON] = ["clearedBy": .string(userID)]
        emit("room:cleared", .object(payload), to: .room, in: room.id)
        emitElementsChanged("room:cleared:global", payload, in: &room, at: stamp())
        return answer
    }

    func elements(in roomID: String?, _ query: [String: String], by userID: String) throws(Refused) -> Answer {
        let room = try room(roomID, of: userID)
        let limit = try Self.limit(query, standard: 200, max: 500)
        let rest = room.elements.drop { element in query["cursor"].map { element.id <= $0 } ?? false }
        let shown = Array(rest.prefix(limit))
        let next = rest.count > limit ? shown.last?.id : nil
        return Answer(200, .array(shown.map { Self.json($0, in: room) }), next: .some(next))
    }

    private mutating func emitElementsChanged(
        _ event: String, _ members: [String: JSON], in room: inout RoomState, at time: Int
    ) {
        room.rev += 1
        room.updatedAt = time
        rooms[room.id] = room
        let counts: [String: JSON] = [
            "updatedAt": .string(WireTime.seconds(time)), "elementCount": .integer(room.elements.count),
            "rev": .integer(room.rev),
        ]
        emit(event, .object(members.merging(counts) { $1 }), to: .everyone, in: room.id)
    }

    private static func json(_ element: RoomState.StoredElement, in room: RoomState) -> JSON {
        .object([
            "id": .string(element.id), "roomId": .string(room.id), "type": .string(element.type),
            "content": element.content, "position": element.position, "createdBy": .string(element.createdBy),
            "createdAt": .string(WireTime.milliseconds(element.createdAt)), "updatedBy": .string(element.updatedBy),
            "updatedAt": .string(WireTime.milliseconds(element.updatedAt)), "version": .integer(element.version),
            "tempId": .optional(element.tempID),
        ])
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
