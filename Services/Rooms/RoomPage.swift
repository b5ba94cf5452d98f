import JSON

/// As many rooms as fit one answer on the bus.
struct RoomPage: Sendable {
    let rooms: [Room]
    /// The rooms, as they are answered.
    let json: JSONValue
    /// Where the next page begins; nil on the last one.
    let cursor: JSONValue?

    /// Room for a thousand ordinary rooms. With the people in them, who take up to 1.2 times as much, and the last room,
    /// an answer stays below the line of 1 MiB.
    private static let maxBytes = 448 * 1024
    /// More never fit: the smallest room takes 400 bytes.
    static let maxCount = 1200

    /// Takes from the first ones what fits.
    init(of candidates: [Room]) {
        var count = 0
        json = JSONWriter.value(reservingCapacity: min(candidates.count * 512, Self.maxBytes)) { json in
            json.array { json in
                for room in candidates where json.bytes.count < Self.maxBytes {
                    room.write(to: &json)
                    count += 1
                }
            }
        }
        rooms = Array(candidates.prefix(count))
        cursor = count < candidates.count ? rooms.last.map { JSONValue($0.id) } : nil
    }
}
