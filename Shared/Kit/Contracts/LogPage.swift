import JSON

/// What the owner of an event log answers when it is asked for entries.
public struct LogPage: Sendable {
    /// Where the log ends.
    public let head: Bookmark
    /// The first entry that was not pruned yet; one after the head if there is none.
    public let oldest: Int
    /// Whether the bookmark that was asked from is of this log. False for one that was pruned, and for one of another past:
    /// a restored backup's log has other entries under the same numbers, or none so high.
    public let isKnown: Bool
    /// In order, without gaps but for what was pruned or was not asked for.
    public let entries: [StreamEntry]
    /// The position up to which `entries` has all that was asked for.
    public let through: Int

    public init(head: Bookmark, oldest: Int, isKnown: Bool, entries: [StreamEntry], through: Int) {
        self.head = head
        self.oldest = oldest
        self.isKnown = isKnown
        self.entries = entries
        self.through = through
    }

    public var json: JSONValue {
        let size = entries.reduce(256) { $0 + $1.emissionsJSON.bytes.count + 256 }
        return JSONWriter.object(reservingCapacity: size) {
            $0.member("head", object: { head.writeMembers(to: &$0) })
            $0.member("oldest", oldest)
            $0.member("isKnown", isKnown)
            $0.member("through", through)
            $0.member("entries", array: { for entry in entries { entry.write(to: &$0) } })
        }
    }

    /// nil if it is not what `json` writes.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let head = object["head"]?.object.flatMap(Bookmark.init),
            let oldest = object["oldest"]?.int, let isKnown = object["isKnown"]?.bool,
            let through = object["through"]?.int, let entries = object["entries"]?.array
        else { return nil }
        self.init(
            head: head, oldest: oldest, isKnown: isKnown, entries: entries.compactMap(StreamEntry.init),
            through: through)
    }
}
