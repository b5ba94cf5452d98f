import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient

/// Asks services for their fields of many objects at once. A service that is repeatedly late is not waited for
/// (`CircuitBreakers`).
struct ContributionClient: Sendable {
    /// What is asked about: rooms, messages or people.
    struct Objects: Sendable {
        /// The member of the request with the objects' ids.
        let ids: String
        /// The member of the reply with their values.
        let values: String

        static let rooms = Objects(ids: "roomIds", values: "rooms")

        init(_ object: ShownObject) { self.init(ids: object.ids, values: object.rawValue) }

        private init(ids: String, values: String) { (self.ids, self.values) = (ids, values) }
    }

    let bus: any MessageBus
    let faults: ReplyFaults
    private let breakers = CircuitBreakers()

    init(bus: any MessageBus, faults: ReplyFaults) { (self.bus, self.faults) = (bus, faults) }

    /// The time limit: what comes later is useless.
    static let maxWait: Duration = .seconds(1)
    /// The limit of a field's value, on average over the fields of an object, in bytes. Values are written on event
    /// loops, for many objects at once. The longest last message of a room, of 16,000 bytes, fits Messaging's share.
    private static let maxFieldBytes = 8192

    /// Returns the values of each object; nil without a valid answer. The values of an object that are too large are
    /// null, as if the service knew nothing of it.
    func values(
        of objects: Objects, _ ids: [String], for userID: String, _ contribution: Contribution, _ context: BusContext,
        by deadline: LoopInstant
    ) async -> [JSONValue]? {
        let subject = contribution.subject
        let asked = LoopInstant.now()
        // Earlier steps of a request may have used up its time.
        let hasTime = deadline - asked >= Self.maxWait / 2
        guard breakers.allow(subject, hasTime: hasTime, at: asked) else { return nil }
        let maxBytes = Self.maxFieldBytes * max(1, contribution.fields.count)
        let values = await values(of: objects, ids[...], for: userID, from: subject, context, by: deadline)
        // If nobody responds, the request fails at once. That is not late, so it does not open the breaker.
        if values != nil || hasTime {
            breakers.note(isLate: values == nil && deadline <= .now(), subject, asked: asked)
        }
        return values?.map { values in
            if values.bytes.count > maxBytes {
                faults.note(.largeValue, on: subject, context)
            } else if let mistake = contribution.mistake(in: values) {
                faults.note(.wrongValue, mistake, on: subject, context)
            } else {
                return values
            }
            return .null
        }
    }

    /// Returns the values as they were answered. If the request or the reply is too long for the bus, it asks about
    /// half of the objects at a time.
    private func values(
        of objects: Objects, _ ids: ArraySlice<String>, for userID: String, from subject: String,
        _ context: BusContext, by deadline: LoopInstant
    ) async -> [JSONValue]? {
        var context = context
        context.timeout = deadline - .now()
        let data = JSONWriter.object(reservingCapacity: ids.count * 40 + 64) {
            $0.member("userId", userID)
            $0.member(objects.ids, array: { for id in ids { $0.string(id) } })
        }
        do {
            let payload = try await bus.request(subject, data, context)
            guard let reply = read(payload, on: subject, context) else { return nil }
            guard let values = reply.data[objects.values]?.array, values.count == ids.count else {
                faults.note(.malformed, "`data.\(objects.values)` is no list of \(ids.count)", on: subject, context)
                return nil
            }
            return values
        } catch BusError.lineTooLong where ids.count > 1 {
            let middle = ids.startIndex + ids.count / 2
            guard
                let first = await values(
                    of: objects, ids[..<middle], for: userID, from: subject, context, by: deadline),
                let second = await values(
                    of: objects, ids[middle...], for: userID, from: subject, context, by: deadline)
            else { return nil }
            return first + second
        } catch {
            faults.note(error, on: subject, context)
            return nil
        }
    }

    /// Parses a reply. A service may be overloaded, but not refuse the fields that it declares.
    private func read(_ payload: any BusPayload, on subject: String, _ context: BusContext) -> Reply? {
        do throws(ServiceError) {
            return try Reply(payload)
        } catch {
            if error == .noReply || payload.json["error"]?.object?.refusedCode != nil {
                faults.note(error, reading: payload, on: subject, context)
            } else if !error.code.isRetryable || error.code == .internal {
                faults.note(.noFields, "\(error.code.rawValue): \(error.message.prefix(64))", on: subject, context)
            }
            return nil
        }
    }
}

extension Contribution {
    /// Returns what is wrong with the values of an object, for a log; nil if they are right, or null for an object that the
    /// service does not know.
    fileprivate func mistake(in values: JSONValue) -> String? {
        if values.isNull { return nil }
        guard let list = values.array, list.count == fields.count else { return "\(fields.count) values are expected" }
        for (field, value) in zip(fields, list) {
            let isRight =
                switch (field.kind, field.role) {
                case (.time, _), (.laterTime, _): value.isNull || value.int != nil
                case (_, .badge): (value.int ?? -1) >= 0
                default: true
                }
            if !isRight { return "\(field.path) is \("\(value)".prefix(64))" }
        }
        return nil
    }
}
