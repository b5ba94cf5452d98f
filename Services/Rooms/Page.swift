import ParlorContracts
import ParlorJSON
import ParlorServiceKit

/// A part of a list that fits one reply on the bus.
struct Page<Item: Sendable>: Sendable {
    let items: [Item]
    /// The encoded items.
    let json: JSONValue
    /// The cursor of the next page; nil on the last one.
    let cursor: JSONValue?

    /// Takes as many of the first candidates as fit.
    ///
    /// - Parameters:
    ///   - candidates: as many as were requested, or fewer if there are no more.
    ///   - id: returns the key by which the candidates are sorted.
    init(
        of candidates: [Item], lookedFor limit: Int, id: (Item) -> String, _ write: (Item, inout JSONWriter) -> Void
    ) {
        var count = 0
        json = JSONWriter.value(reservingCapacity: min(candidates.count * 512, PageLimits.maxBytes)) { json in
            json.array { json in
                for item in candidates where json.bytes.count < PageLimits.maxBytes {
                    write(item, &json)
                    count += 1
                }
            }
        }
        items = Array(candidates.prefix(count))
        // A page that is full by number may be the last one, too: then the next one is empty.
        cursor =
            candidates.isEmpty || (count < limit && count == candidates.count)
            ? nil : items.last.map { JSONValue(id($0)) }
    }

    /// The reply, which has a `page` only if the list continues.
    var reply: Reply { Reply(.ok, json, page: cursor) }
}

extension Page<String> {
    /// Takes as many ids as fit, of which `PageLimits.maxIDs` were requested.
    init(_ ids: [String]) { self.init(of: ids, lookedFor: PageLimits.maxIDs, id: \.self) { $1.string($0) } }
}

/// The limits of one page. A reply has to stay below the bus's line of 1 MiB.
enum PageLimits {
    /// The size limit, which allows a thousand ordinary rooms. The people of these rooms take up to
    /// 1.1 times as much, and one item may exceed the limit. Together they stay below the bus's
    /// line.
    static let maxBytes = 480 * 1024
    /// The limit of rooms. Reading more than fit would be wasted: ordinary rooms take 400 bytes.
    static let maxRooms = 1200
    /// The limit of memberships, at 250 bytes each.
    static let maxMemberships = 2000
    /// The limit of changes of people, most of which take 200 bytes.
    static let maxChanges = 2000
    /// The limit of ids, at 39 bytes each.
    static let maxIDs = 12_000
    /// The limit of participants in an entry without emissions. At 39 bytes for an id, such an
    /// entry is a small part of a page.
    static let maxParticipants = 2000
    /// The limit of names, at 400 bytes for a name of 100 characters.
    static let maxNames = 1000
}
