import ParlorContracts
import ParlorJSON
import ParlorMessageBus

/// The number of ids in one request, and their size in bytes. A client may have sent long ones.
private let (maxIDs, maxBytes) = (1000, 128 * 1024)

// For services that store something about messages or elements.
extension MessageBus {
    /// Returns those of the messages that exist and were not deleted.
    ///
    /// - Parameters:
    ///   - ids: any number of them. At most 1,000 are in a request. The requests follow one another, so the result is
    ///     not of one moment.
    ///   - roomID: the room in which they have to be; nil for any.
    ///   - context: its timeout is for each request.
    /// - Throws: the errors of `ask`; `internal_error` if a reply is malformed.
    public func existingMessages(
        _ ids: [String], in roomID: String? = nil, _ context: BusContext
    ) async throws(ServiceError) -> Set<String> {
        try await existing(ids, as: "messageIds", in: roomID, Subject.existingMessages, context, of: "Messaging")
    }

    /// Returns those of the elements that exist and were not deleted, as `existingMessages` does.
    public func existingElements(_ ids: [String], _ context: BusContext) async throws(ServiceError) -> Set<String> {
        try await existing(ids, as: "elementIds", in: nil, Subject.existingElements, context, of: "Elements")
    }

    private func existing(
        _ ids: [String], as member: String, in roomID: String?, _ subject: String, _ context: BusContext,
        of owner: String
    ) async throws(ServiceError) -> Set<String> {
        var existing: Set<String> = []
        var rest = ids[...]
        while !rest.isEmpty {
            var (bytes, count) = (0, 0)
            for id in rest.prefix(maxIDs) where bytes < maxBytes {
                bytes += id.utf8.count
                count += 1
            }
            let asked = rest.prefix(count)
            rest = rest.dropFirst(count)
            let data = JSONWriter.object {
                if let roomID { $0.member("roomId", roomID) }
                $0.member(member, asked)
            }
            let reply = try await ask(subject, data, context, of: owner)
            guard let found = reply.data[member]?.array else { throw .noReply }
            existing.formUnion(found.lazy.compactMap(\.string))
        }
        return existing
    }
}
