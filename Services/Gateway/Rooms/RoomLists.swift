import Contracts

/// Answers lists of rooms: the last one again, if nothing has changed since, or a new one.
///
/// A list is kept only where a log tells of each change of what it is made of (`Catalog.listLogs`), and given out again only when
/// - each of those logs' owners has said, since it was asked for, where the log ends,
/// - this gateway has followed the log that far, in the same past, and no entry had the person among its participants,
/// - services contribute the same fields, and the same people have the rooms open: no log tells that, so it is compared.
///
/// So it is what composing it anew would give: also right after a write through another gateway. Where any of it is not so, or a service
/// does not answer, it is composed anew. A list that lacks a service's fresh share is never kept.
struct RoomLists: Sendable {
    let kept: KeptLists
    let ends: LogEnds
    let directory: Directory
    let presence: Presence

    /// - Parameters:
    ///   - logs: those that tell of each change of the list; nil if a change could go untold.
    ///   - compose: asks services, which it does not do before it is called.
    func list(
        _ key: KeptLists.Key, logs: [String]?, compose: () async throws(ServiceError) -> RoomList
    ) async throws(ServiceError) -> RoomList {
        guard let logs else { return try await compose() }
        if kept.has(key), let list = await current(key, logs) { return list }
        let ticket = kept.begin(key.userID)
        defer { kept.end(ticket) }
        let list = try await compose()
        if list.isWhole { kept.keep(list, key, ticket) }
        return list
    }

    private func current(_ key: KeptLists.Key, _ logs: [String]) async -> RoomList? {
        let known = kept.places
        let ends = await ends.ends(of: logs)
        guard logs.allSatisfy({ ends[$0] != nil }), var list = kept.list(key, at: ends, after: known),
            list.catalogRevision == directory.catalog.revision
        else { return nil }
        let changes = presence.changes.load(ordering: .acquiring)
        guard list.presenceChanges != changes else { return list }
        guard await presence.present(in: list.roomIDs) == list.present else { return nil }
        list.presenceChanges = changes
        kept.confirm(list, key)
        return list
    }
}
