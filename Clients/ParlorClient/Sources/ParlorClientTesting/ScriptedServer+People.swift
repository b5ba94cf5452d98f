import ParlorClient

// Actions of people that need no device. Devices get the resulting events as usual.
extension ScriptedServer {
    /// Creates an account.
    public func addPerson(
        _ username: String, firstName: String? = nil, email: String? = nil, password: String = "password"
    ) -> Person {
        step {
            $0.parlor.accounts.add(
                username, firstName: firstName, email: email, password: password, &$0.parlor.numbers)
        }
    }

    /// Makes a room of two people.
    ///
    /// - Returns: the room's id.
    /// - Throws: `Refusal`.
    @discardableResult
    public func makeRoom(by personID: String, with otherID: String, name: String? = nil) throws -> String {
        let fields = JSON.object(["otherUserId": .string(otherID), "name": .optional(name)])
        return try change { parlor throws(Refused) in
            try parlor.makeRoom(fields, by: personID).data["id"]?.string ?? ""
        }
    }

    /// Makes a group, whose owner is its creator.
    ///
    /// - Returns: the group's id.
    /// - Throws: `Refusal`.
    @discardableResult
    public func makeGroup(by personID: String, with otherIDs: [String], name: String? = nil) throws -> String {
        let fields = JSON.object(["participantIds": .array(otherIDs.map(JSON.string)), "name": .optional(name)])
        return try act(as: personID, "room:create", fields)["room"]?["id"]?.string ?? ""
    }

    /// Adds people to a group.
    ///
    /// - Throws: `Refusal`.
    public func addPeople(_ ids: [String], to roomID: String, by ownerID: String) throws {
        try act(
            as: ownerID, "participants:add",
            .object(["roomId": .string(roomID), "userIds": .array(ids.map(JSON.string))]))
    }

    /// Removes a person from a group. Who removes themselves leaves it.
    ///
    /// - Throws: `Refusal`.
    public func removePerson(_ id: String, from roomID: String, by personID: String) throws {
        try act(as: personID, "participant:remove", .object(["roomId": .string(roomID), "userId": .string(id)]))
    }

    /// Gives a person in a group another role.
    ///
    /// - Throws: `Refusal`.
    public func setRole(
        _ role: Room.Participant.Role, of id: String, in roomID: String, by ownerID: String
    ) throws {
        try act(
            as: ownerID, "participant:role",
            .object(["roomId": .string(roomID), "userId": .string(id), "role": .string(role.rawValue)]))
    }

    /// Removes a person from a room of any kind, without an event. The contract has no such call, but the operator of a
    /// server may do this in the database.
    public func remove(_ personID: String, from roomID: String) {
        step { network in
            network.parlor.rooms.all[roomID]?.participants.removeAll { $0.id == personID }
            network.parlor.gateway.remove(personID, from: roomID)
        }
    }

    /// Renames a room.
    ///
    /// - Throws: `Refusal`.
    public func rename(_ roomID: String, to name: String, by personID: String) throws {
        try change { parlor throws(Refused) in
            _ = try parlor.rename(roomID, .object(["name": .string(name)]), by: personID)
        }
    }

    /// Sends a message.
    ///
    /// - Returns: the message's id.
    /// - Throws: `Refusal`.
    @discardableResult
    public func post(_ text: String, in roomID: String, by personID: String, tempID: String? = nil) throws -> String {
        let answer = try act(
            as: personID, "message:send",
            .object(["roomId": .string(roomID), "text": .string(text), "tempId": .optional(tempID)]))
        return answer["messageId"]?.string ?? ""
    }

    /// Deletes a message.
    ///
    /// - Throws: `Refusal`.
    public func deleteMessage(_ id: String, in roomID: String, by personID: String) throws {
        try act(as: personID, "message:delete", .object(["roomId": .string(roomID), "messageId": .string(id)]))
    }

    /// Marks messages as read by a person.
    ///
    /// - Throws: `Refusal`.
    public func markRead(_ ids: [String], in roomID: String, by personID: String) throws {
        try act(
            as: personID, "messages:mark-read",
            .object(["roomId": .string(roomID), "messageIds": .array(ids.map(JSON.string))]))
    }

    /// Creates an element without content.
    ///
    /// - Returns: the element's id.
    /// - Throws: `Refusal`.
    @discardableResult
    public func addElement(_ type: String = "note", in roomID: String, by personID: String) throws -> String {
        let fields = JSON.object(["roomId": .string(roomID), "type": .string(type)])
        return try act(as: personID, "element:create", fields)["element"]?["id"]?.string ?? ""
    }

    /// Deletes an element.
    ///
    /// - Throws: `Refusal`.
    public func deleteElement(_ id: String, in roomID: String, by personID: String) throws {
        try act(as: personID, "element:delete", .object(["roomId": .string(roomID), "elementId": .string(id)]))
    }

    /// Deletes all elements of a room.
    ///
    /// - Throws: `Refusal`.
    public func clear(_ roomID: String, by personID: String) throws {
        try act(as: personID, "room:clear", .object(["roomId": .string(roomID)]))
    }

    /// Makes the change that the socket event with this name makes, such as `message:send`.
    ///
    /// - Returns: the ack's members.
    /// - Throws: `Refusal`.
    @discardableResult
    public func act(as personID: String, _ event: String, _ fields: JSON) throws -> JSON {
        try change { parlor throws(Refused) in
            try parlor.act(event, fields, by: personID)
        }
    }

    /// The tokens of the devices that receive a person's push notifications, sorted.
    public func devices(of personID: String) -> [String] {
        step { $0.parlor.sessions.devices(of: personID) }
    }

    /// The number of a person's open sessions.
    public func sessionCount(of personID: String) -> Int {
        step { $0.parlor.sessions.families(of: personID).count }
    }

    /// Makes a session, as a login does.
    public func makeSession(of person: Person) throws -> Session {
        let grant = step { $0.parlor.sessions.open(for: person, &$0.parlor.numbers) }
        return Session(
            token: grant.token, expiresAt: .init(timeIntervalSince1970: Double(grant.expiresAt) / 1000),
            refreshToken: grant.refreshToken, user: person)
    }

    /// The texts of a room's messages in the server's order.
    public func texts(in roomID: String) -> [String] {
        step { $0.parlor.rooms.all[roomID]?.messages.all.map(\.text) ?? [] }
    }

    private func change<Result: Sendable>(
        _ body: @Sendable (inout Parlor) throws(Refused) -> Result
    ) throws -> Result {
        do {
            return try step { network in
                let result = try body(&network.parlor)
                network.flush()
                return result
            }
        } catch let refused as Refused {
            throw Refusal(
                code: refused.code, message: refused.message, isRetryable: refused.isRetryable, status: refused.status)
        }
    }
}
