import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorSecurity
import ParlorServiceClient
import ParlorServiceKit
import ParlorStorage

// What `openapi.json` and `asyncapi.json` say.
extension RequestDescription {
    static let listPolls = RequestDescription(
        "Lists a room's polls, the oldest first.", gives: .array(of: Poll.schema))
    static let createPoll = RequestDescription(
        "Asks a question in a room.",
        takes: Polls.newPoll, gives: Poll.schema, statuses: [.created],
        errors: [.invalidField, .messageNotFound, .payloadTooLarge])
    static let vote = RequestDescription(
        "Votes for one of a poll's choices, by its place from 0.",
        takes: Polls.newVote, gives: Poll.schema,
        errors: [.invalidField, .pollNotFound])
}

extension EventDescription {
    static let ofPolls = [
        EventDescription(
            "poll:created", to: .room, "A poll was created.", .object(["roomId": .id, "poll": Poll.schema])),
        EventDescription("poll:voted", to: .room, "Somebody voted.", .object(["roomId": .id, "poll": Poll.schema])),
    ]
}

/// The polls of all rooms.
struct Polls: Sendable {
    let bus: any MessageBus
    let ids: UUIDv7Generator
    let clock: any WallClock
    let limit: Int
    let votes: Counter

    /// A reply is one line on the bus. 100 of the longest polls fit.
    static let maxPolls = Setting(
        "MAX_ROOM_POLLS", .number(1...100), default: "100", "Maximum number of polls in a room")

    fileprivate static let newPoll = Fields(
        .text("question", length: 1...200, trimmed: true), .strings("choices", count: 2...10),
        .optional(.id("messageId", orThrow: .messageNotFound)))

    /// Creates a poll.
    func create(_ request: RoomRequest) async throws -> Reply {
        let (question, choices, messageID) = try Self.newPoll.read(request.fields)
        guard choices.allSatisfy({ (1...100).contains($0.unicodeScalars.count) }), Set(choices).count == choices.count
        else { throw ServiceError.invalid("choices", "has to be different texts of 1 to 100 characters") }
        if let messageID { try await requireMessage(messageID, request) }
        let (now, room) = (clock.now(), request.room)
        let poll = Poll(
            id: ids.next(at: now.milliseconds), question: question, choices: choices,
            votes: choices.map { _ in 0 }, createdBy: request.caller.userID, createdAt: now, messageID: messageID)
        let entry = try await request.write { [limit] connection in
            let store = PollsStore(connection)
            guard try store.insert(poll, in: room.roomID, upTo: limit) else {
                throw ServiceError(.payloadTooLarge, "The room has \(limit) polls, which is as many as it may.")
            }
            let created = Emission(to: .room, "poll:created", poll.event(in: room.roomID))
            // The badge of everyone else has changed, whether they have the room open or not.
            let badges = try room.userIDs.filter { $0 != poll.createdBy }.map {
                try badge(of: $0, in: room.roomID, store)
            }
            return try request.emit([created] + badges, fact: Self.fact(of: poll), at: now, on: connection)
        }
        return Reply(.created, poll.json, position: entry)
    }

    /// - Throws: `message_not_found` if the room has no such message, or it was deleted.
    private func requireMessage(_ id: String, _ request: RoomRequest) async throws {
        // A poll stays when its message is deleted, so it is enough to ask before the write.
        let existing = try await bus.existingMessages([id], in: request.room.roomID, request.onward())
        guard existing.contains(id) else { throw ServiceError.messageNotFound }
    }

    fileprivate static let newVote = Fields(.id("pollId", orThrow: notFound), .integer("choice"))

    /// Votes for a choice, by its place from 0. A later vote replaces an earlier one.
    func vote(_ request: RoomRequest) async throws -> Reply {
        let (pollID, choice) = try Self.newVote.read(request.fields)
        let (now, room, voter) = (clock.now(), request.room, request.caller.userID)
        let (poll, entry) = try await request.write { connection -> (Poll, EntryPosition) in
            let store = PollsStore(connection)
            guard let before = try store.poll(pollID, in: room.roomID) else { throw Self.notFound }
            guard before.choices.indices.contains(choice) else {
                throw ServiceError.invalid("choice", "has to be one of the poll's choices, from 0")
            }
            try store.vote(for: choice, in: pollID, by: voter)
            guard let poll = try store.poll(pollID, in: room.roomID) else { throw Self.notFound }
            let voted = Emission(to: .room, "poll:voted", poll.event(in: room.roomID))
            let entry = try request.emit(
                [voted, try badge(of: voter, in: room.roomID, store)], fact: Self.fact(of: poll), at: now,
                on: connection)
            return (poll, entry)
        }
        votes.add()
        return Reply(.ok, poll.json, position: entry)
    }

    /// Lists a room's polls, the oldest first.
    func list(_ request: RoomRequest) async throws -> Reply {
        let polls = try await request.read { try PollsStore($0).polls(of: request.room.roomID) }
        return Reply(.ok, JSONWriter.value { json in json.array(of: polls) { $0.value($1.json) } })
    }

    /// Returns the event with a person's new badge, for all of the person's sockets. The gateway adds the badges of
    /// other services.
    private func badge(of userID: String, in roomID: String, _ store: PollsStore) throws -> Emission {
        let count = try store.summaries(of: [roomID], for: userID)[roomID]?.unanswered ?? 0
        let badges = JSONWriter.object {
            $0.member("roomId", roomID)
            $0.member("badges", object: { $0.member("polls", count) })
        }
        return Emission(to: .person(userID), "room:badges", badges, composition: .badges)
    }

    /// Returns the fact that the field `poll` of a message has changed; nil if the poll is about no message.
    private static func fact(of poll: Poll) -> Fact? { poll.messageID.map { .fieldsChanged(messageIDs: [$0]) } }

    private static let notFound = ServiceError(.pollNotFound, "There is no such poll in this room.")
}

extension Polls {
    static let contribution = FieldContribution<PollsSummary>(
        "polls.contribute",
        [
            .init(Contribution.Field("pollCount", zero: JSONValue(0))) { $0.number($1.count) },
            .init(.badge("polls")) { $0.number($1.unanswered) },
        ])

    static let messageContribution = FieldContribution<PollOfMessage>(
        "polls.messages",
        [.init(Contribution.Field("poll", zero: .null), schema: PollOfMessage.schema.orNull) { $0.value($1.json) }])

    private static let rooms = Setting(
        "POLLS_ROOMS", flag: "--rooms", .number(1...1000), default: "10", "Number of rooms to list")

    /// `parlor-with-polls polls`: a command for operators, which also works while Parlor runs.
    static let command = Command.reading(
        PollsService.self, "polls", "Lists the rooms with the most polls.", [rooms]
    ) { connection, configuration, print in
        for room in try PollsStore(connection).rooms(withMostPolls: configuration[rooms]) {
            print("\(room.roomID): \(room.polls) polls, \(room.votes) votes")
        }
        return .done
    }
}
