import ParlorClient

/// A whole Parlor in memory, as the contract describes it: requests and packets in, answers and packets out.
///
/// It does no I/O and starts no tasks, and the time is passed in. So the same input gives the same output. Times are
/// in milliseconds.
///
/// Each part owns its state, and gets what it needs of the others with each call. A change of a room has effects on the
/// other parts, which are applied here.
struct Parlor: Sendable {
    var numbers: Numbers
    var accounts = Accounts()
    var sessions: Sessions
    var rooms = Rooms()
    var plugins = Plugins()
    var gateway: Gateway
    /// The refusals that the test has set, with the names of their requests.
    var refusals: [(name: String, refused: Refused)] = []

    /// Throws the next refusal that the test has set for this request, if there is one.
    mutating func checkRefusals(for name: String) throws(Refused) {
        guard let index = refusals.firstIndex(where: { $0.name == name }) else { return }
        throw refusals.remove(at: index).refused
    }

    mutating func makeRoom(_ fields: JSON, by userID: String) throws(Refused) -> Answer {
        let (room, isNew) = try rooms.add(fields, by: userID, accounts, &numbers)
        guard isNew else { return Answer(200, json(room, for: userID), isDuplicate: true) }
        for person in room.participants.map(\.id) {
            let data: JSON = ["room": json(room, for: person, isShort: true)]
            apply([.emit("room:created", data, to: .person(person))], in: room.id)
        }
        let global: JSON = ["createdBy": .string(userID)]
        apply([.emit("room:created:global", global, in: room.id, to: .everyone)], in: room.id)
        return Answer(201, json(room, for: userID))
    }

    mutating func rename(_ roomID: String?, _ fields: JSON, by userID: String) throws(Refused) -> Answer {
        var room = try rooms.room(roomID, of: userID)
        let effects = room.rename(to: try Rooms.name(fields), by: userID, &numbers)
        rooms.all[room.id] = room
        apply(effects, in: room.id)
        return Answer(200, json(room, for: userID))
    }

    mutating func change(
        _ change: RoomChange, _ fields: JSON, in roomID: String?, by userID: String
    ) throws(Refused) -> Answer {
        var room = try rooms.room(roomID, of: userID)
        let viewers = gateway.viewers(of: room.id)
        let answer = try room.perform(change, fields, by: userID, viewers: viewers, &numbers)
        rooms.all[room.id] = room
        apply(answer.effects, in: room.id)
        return answer
    }

    /// Runs a plugin's handler.
    mutating func run(_ handler: ScriptedCall.Handler, _ fields: JSON, by userID: String) throws(Refused) -> Answer {
        var call = ScriptedCall(personID: userID, fields: fields)
        if !call.roomID.isEmpty { _ = try rooms.room(call.roomID, of: userID) }
        let data = try Result { try handler(&call) }.mapError(Refused.init).get()
        apply(call.effects, in: call.roomID)
        return Answer(call.status, data, next: call.isPage ? .some(call.nextPage) : nil)
    }

    mutating func apply(_ effects: [Effect], in roomID: String) {
        for effect in effects {
            switch effect {
            case .emit(let event, let data, let audience, let concerned):
                let participants = rooms.all[roomID]?.participants.map(\.id) ?? []
                gateway.emit(
                    .init(
                        audience: audience, roomID: roomID, event: event, data: data, participants: participants,
                        concerned: concerned))
            case .badges(let personID):
                guard let room = rooms.all[roomID], room.participant(personID) != nil else { continue }
                let badges = JSON.object(plugins.badges(of: personID, in: room))
                apply([.emit("room:badges", badges, in: roomID, to: .person(personID))], in: roomID)
            case .endTyping(let personID): gateway.endTyping(of: personID, in: roomID)
            case .forget(let messageID): gateway.log.forget(messageID: messageID, in: roomID)
            case .setBadge(let name, let count, let personID):
                plugins.badges[name, default: [:]][roomID, default: [:]][personID] = count
                apply([.badges(of: personID)], in: roomID)
            case .setField(let name, let value): plugins.fields[name, default: [:]][roomID] = value
            }
        }
    }

    /// Returns a room as one person sees it.
    ///
    /// - Parameters:
    ///   - isListed: true for `my-rooms` and `sync`.
    ///   - isShort: true to show only the first ten participants, and the person.
    func json(_ room: RoomState, for userID: String, isListed: Bool = false, isShort: Bool = false) -> JSON {
        let present = gateway.people(in: room.id)
        return plugins.fields(of: room.id)
            .adding(room.members(for: userID, present: present, isListed: isListed, isShort: isListed || isShort))
            .adding(plugins.badges(of: userID, in: room))
    }
}
