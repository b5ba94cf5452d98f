import Contracts
import EventLog
import GatewayPresence

/// Answers lists of rooms: the last one again, if nothing has changed since; that one with what has changed; or a new one.
///
/// A list is kept only where a log tells of each change of what it is made of (`Catalog.listLogs`), and given out again only when
/// - each of those logs' owners has said, since it was asked for, where the log ends,
/// - this gateway has followed the log that far, in the same past, and composed the rooms anew of entries that had the person among their
///   participants,
/// - services contribute the same fields, and the same people have the rooms open: no log tells that, so it is compared.
///
/// So it is what composing it anew would give: also right after a write through another gateway. Where any of it is not so, or a service
/// does not answer, it is composed anew. A list that lacks a service's fresh share is never kept.
struct RoomLists: Sendable {
    let kept: KeptLists
    let ends: ReadIndex
    let directory: Directory
    let presence: Presence
    let lastKnown: LastKnown
    let longWork: LongWork

    /// - Parameters:
    ///   - logs: those that tell of each change of the list; nil if a change could go untold.
    ///   - compose: asks services, which it does not do before it is called, for these of the person's rooms, or for all that there are.
    func list(
        _ key: KeptLists.Key, logs: [String]?,
        compose: (_ roomIDs: [String]?) async throws(ServiceError) -> RoomComposer.Composed
    ) async throws(ServiceError) -> RoomList {
        guard let logs else { return await roomList(of: try await compose(nil), by: key.sort) }
        let known = kept.places
        let ends = kept.has(key) ? await ends.ends(of: logs) : [:]
        let ticket = kept.begin(key.userID)
        defer { kept.end(ticket) }
        let old = logs.allSatisfy { ends[$0] != nil } ? await current(key, at: ends, after: known) : nil
        if let old, old.stale.isEmpty {
            lastKnown.renew(key.userID)
            return old.list
        }
        let list: RoomList
        if let old, old.isMendable, let mended = await mended(old, by: key.sort, compose) {
            list = mended
        } else {
            list = await roomList(of: try await compose(nil), by: key.sort)
        }
        if list.isWhole { kept.keep(list, key, ticket) }
        return list
    }

    private func roomList(of composed: RoomComposer.Composed, by sort: ComposedRoom.Sort) async -> RoomList {
        await longWork.run(if: composed.isLong) { RoomList(composed, by: sort) }
    }

    /// nil if all rooms are to be asked for: a service says something else of one than its log.
    private func mended(
        _ old: KeptLists.Kept, by sort: ComposedRoom.Sort,
        _ compose: (_ roomIDs: [String]?) async throws(ServiceError) -> RoomComposer.Composed
    ) async -> RoomList? {
        do throws(ServiceError) {
            let composed = try await compose(old.stale.sorted())
            return await longWork.run(if: old.list.count > RoomComposer.maxWrittenOnLoop) {
                old.list.replacing(with: composed, by: sort)
            }
        } catch {
            return nil
        }
    }

    /// What was kept, if it can be told what has changed since; those who have come to rooms or left them count as that.
    private func current(
        _ key: KeptLists.Key, at ends: [String: LogPosition], after known: [String: LogPosition]
    ) async -> KeptLists.Kept? {
        guard var old = kept.list(key, at: ends, after: known),
            old.list.catalogRevision == directory.catalog.revision
        else { return nil }
        let changes = presence.changes.load(ordering: .acquiring)
        guard old.list.presenceChanges != changes else { return old }
        let ids = old.list.roomIDs
        let present = await presence.present(in: ids)
        old.stale.formUnion(ids.filter { present[$0] != old.list.present[$0] })
        old.list.presenceChanges = changes
        if old.stale.isEmpty { kept.confirm(old.list, key) }
        return old
    }
}
