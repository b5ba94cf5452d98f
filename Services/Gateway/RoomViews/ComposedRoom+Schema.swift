import ParlorContracts

extension ComposedRoom {
    /// Returns the schema of a Room with these services' fields.
    ///
    /// - Parameter fields: each with the schema that its service gives it; without one, it follows from the
    ///   field's kind and zero.
    package static func schema(of fields: [(field: Contribution.Field, schema: Schema?)]) -> Schema {
        var (activities, own, badges) = (["roomUpdate"], [Schema.Member](), [Schema.Member]())
        for (field, schema) in fields {
            switch (field.kind, field.role) {
            case (.value, .badge(let name)): badges.append(Schema.Member(name, schema ?? field.plainSchema))
            case (.time, let role):
                own.append(Schema.Member(field.path, schema ?? Schema.time.orNull))
                if case .activity(let type, _) = role, !activities.contains(type) { activities.append(type) }
            case (.value, _): own.append(Schema.Member(field.path, schema ?? field.plainSchema))
            case (.laterTime, _): break
            }
        }
        let all = Schema.named("Badges", .object(badges))
        return .named(
            "Room",
            .object(
                members(activities) + own + [
                    Schema.Member("badges", all),
                    Schema.Member("hasUnread", Schema.boolean.noted("A badge is above zero.")),
                ]))
    }

    private static func members(_ activities: [String]) -> [Schema.Member] {
        let participant = Schema.named(
            "Participant",
            .object([
                "userId": .id, "username": .string, "firstName": Schema.string.orNull, "joinedAt": .time,
                "role": .choice([RoomRole.owner.rawValue, RoomRole.member.rawValue]),
                "isPresent": Schema.boolean.noted("This person has the room open."),
            ]))
        return [
            Schema.Member("id", .id),
            Schema.Member("kind", .choice([RoomKind.direct.rawValue, RoomKind.group.rawValue])),
            Schema.Member("name", Schema.string.orNull.noted("Null if it has none; in `my-rooms` an empty string.")),
            Schema.Member(
                "displayName", Schema.string.noted("Never empty: the name, or the participants' names.")),
            Schema.Member("createdBy", .id), Schema.Member("createdAt", .time), Schema.Member("updatedAt", .time),
            Schema.Member("lastActivityAt", .time), Schema.Member("lastActivityType", .choice(activities)),
            Schema.Member("isActive", Schema.boolean.noted("Somebody has the room open.")),
            Schema.Member("participantCount", .integer(from: 0)),
            Schema.Member(
                "participants",
                Schema.array(of: participant).noted(
                    "In the order in which they came. In a list, of more than ten the first ten and the caller.")),
        ]
    }
}

extension EventDescription {
    package static let badges = EventDescription(
        "room:badges", to: .person,
        "The person's badges of the room have changed for another reason than a new message or element.",
        .object(["roomId": .id, "badges": .reference("Badges"), "hasUnread": .boolean]))
}
