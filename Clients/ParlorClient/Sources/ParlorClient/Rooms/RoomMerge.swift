/// Merges an answer with what is known of its room. For each value, the later one stays.
struct RoomMerge {
    let known: Room
    /// True if the room had events since the request.
    let isOvertaken: Bool
    /// True if one of them has changed its name or people.
    let hasNewDescription: Bool
    /// The fields for which the answer has only last known values.
    let missingFields: Set<RoomFieldSource>
    /// The last deleted messages.
    let deletedMessages: RecentValues<Bool>

    func merge(_ answer: Room) -> Room {
        var merged = answer
        let knowsAll = known.participants.count == answer.participantCount
        // A list has only the first people of a large group.
        if !answer.hasAllParticipants, knowsAll { merged.participants = known.participants }
        guard isOvertaken || !missingFields.isEmpty else { return merged }
        if missingFields.contains(.others) { merged.extras.keepKnown(known.extras) }
        if hasNewDescription {
            merged.takePeople(of: known)
            (merged.name, merged.displayName) = (known.name, known.displayName)
        }
        for room in [answer, known] {
            room.messagesUpdatedAt.map { merged.noteMessages(at: $0) }
            merged.noteContent(at: room.updatedAt)
        }
        guard isOvertaken || missingFields.contains(.messages) else { return merged }
        let last = [known.lastMessage, answer.lastMessage].compactMap(\.self).max { $0.createdAt < $1.createdAt }
        merged.lastMessage = last.flatMap { deletedMessages[$0.id] == nil ? $0 : nil }
        return merged
    }
}
