import ParlorClient

extension Parlor {
    enum Audience: Sendable, Equatable {
        case room
        case person(String)
        case everyone
    }

    /// An event that is kept, and replayed to clients that were offline.
    struct LogEntry: Sendable {
        var audience: Audience
        var roomID: String
        var event: String
        var data: JSON
        var participants: [String]
    }

    /// Sends an event to its audience, and logs it for replays unless it is for everyone.
    ///
    /// - Parameter namesRoom: true to add `roomId` to the data.
    mutating func emit(
        _ event: String, _ data: JSON, to audience: Audience, in roomID: String, namesRoom: Bool = true
    ) {
        let isWhole = !namesRoom || event == "room:created"
        let data = isWhole ? data : data.adding(["roomId": .string(roomID)])
        let participants = rooms[roomID]?.participants.map(\.userID) ?? []
        if audience != .everyone {
            log.append(
                LogEntry(audience: audience, roomID: roomID, event: event, data: data, participants: participants))
        }
        for (id, socket) in liveSockets {
            let isMeant =
                switch audience {
                case .room: socket.joined.contains(roomID)
                case .person(let userID): socket.userID == userID
                case .everyone:
                    settings.broadcastsToEveryone || socket.userID.map { participants.contains($0) } == true
                }
            if isMeant { deliver(event, data, to: id) }
        }
    }

    /// Leaves a message's event out of later replays. Its entry stays, as cursors count entries.
    mutating func forgetText(of messageID: String, in roomID: String) {
        let index = log.lastIndex {
            $0.roomID == roomID && $0.event == "message:new" && $0.data["message"]?["id"]?.string == messageID
        }
        if let index { log[index].audience = .everyone }
    }

    /// Sends a room an event that is never replayed, such as typing and presence.
    mutating func emitVolatile(
        _ event: String, _ members: [String: JSON], in roomID: String, exceptFor userID: String? = nil
    ) {
        let data = JSON.object(members).adding(["roomId": .string(roomID)])
        for (id, socket) in liveSockets where socket.joined.contains(roomID) && socket.userID != userID {
            deliver(event, data, to: id)
        }
    }

    mutating func deliver(_ event: String, _ data: JSON, to socketID: Int) {
        let text = "42" + JSON.array([.string(event), data]).text
        // No fault may move the end of a replay, so `sync:done` counts as a control packet.
        let kind = event == "sync:done" ? Delivery.Kind.control : .event(event)
        deliveries.append(Delivery(socketID: socketID, kind: kind, text: text))
    }

    /// The sockets that have joined the namespace, oldest first.
    var liveSockets: [(id: Int, socket: Socket)] {
        sockets.filter { $0.value.userID != nil }.sorted { $0.key < $1.key }.map { (id: $0.key, socket: $0.value) }
    }

    // MARK: Presence and typing

    func isPresent(_ userID: String, in roomID: String) -> Bool {
        sockets.values.contains { $0.userID == userID && $0.joined.contains(roomID) }
    }

    mutating func emitPresence(of userID: String, in roomID: String, was wasPresent: Bool) {
        let isPresent = isPresent(userID, in: roomID)
        guard isPresent != wasPresent else { return }
        emitVolatile("room:presence", ["userId": .string(userID), "isPresent": .bool(isPresent)], in: roomID)
    }

    mutating func setTyping(_ isTyping: Bool, of userID: String, in roomID: String, on socketID: Int) {
        let wasTyping = self.isTyping(userID, in: roomID)
        sockets[socketID]?.typing[roomID] = isTyping ? now + 3000 : nil
        emitTyping(of: userID, in: roomID, was: wasTyping)
    }

    mutating func endTyping(of userID: String, in roomID: String) {
        let wasTyping = isTyping(userID, in: roomID)
        for id in sockets.keys where sockets[id]?.userID == userID { sockets[id]?.typing[roomID] = nil }
        emitTyping(of: userID, in: roomID, was: wasTyping)
    }

    /// Ends typing that was not renewed for three seconds.
    mutating func endStaleTyping() {
        for (id, socket) in liveSockets {
            guard let userID = socket.userID else { continue }
            for roomID in socket.typing.filter({ $0.value <= now }).keys.sorted() {
                setTyping(false, of: userID, in: roomID, on: id)
            }
        }
    }

    private func isTyping(_ userID: String, in roomID: String) -> Bool {
        sockets.values.contains { $0.userID == userID && $0.typing[roomID] != nil }
    }

    private mutating func emitTyping(of userID: String, in roomID: String, was wasTyping: Bool) {
        let isTyping = isTyping(userID, in: roomID)
        guard isTyping != wasTyping else { return }
        emitVolatile(
            "message:typing", ["userId": .string(userID), "isTyping": .bool(isTyping)], in: roomID, exceptFor: userID)
    }
}
