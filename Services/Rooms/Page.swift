import Contracts
import JSON
import ServiceKit

/// As much of a list as fits one answer on the bus.
struct Page<Item: Sendable>: Sendable {
    let items: [Item]
    /// The items, as they are answered.
    let json: JSONValue
    /// The cursor of the next page; nil on the last one.
    let cursor: JSONValue?

    /// Takes from the first ones what fits.
    ///
    /// - Parameters:
    ///   - candidates: as many as were looked for, or fewer if there are no more.
    ///   - id: what the candidates are sorted by.
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
        // A page that is full by number may be the last one, too: then the next is empty.
        cursor =
            candidates.isEmpty || (count < limit && count == candidates.count)
            ? nil : items.last.map { JSONValue(id($0)) }
    }

    /// There is a `page` only if the list goes on.
    var reply: Reply { Reply(.ok, json, page: cursor) }
}

/// The limits of one page. A reply has to stay below the bus's line of 1 MiB.
enum PageLimits {
    /// Room for a thousand ordinary rooms. With the people in them, who take up to 1.2 times as much, and the last item, an
    /// answer stays below the line.
    static let maxBytes = 448 * 1024
    /// Rooms beyond those that fit are read in vain: ordinary rooms take 400 bytes.
    static let maxRooms = 1200
    /// At 250 bytes for who is in one.
    static let maxMemberships = 2000
    /// At 39 bytes for an id.
    static let maxIDs = 12_000
    /// The maximum of participants in an entry without emissions, at 39 bytes for an id: a small
    /// part of a page of entries.
    static let maxParticipants = 2000
    /// At 400 bytes for a name of 100 characters.
    static let maxNames = 1000
}
