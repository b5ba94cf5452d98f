/// The server's time, and the numbers and ids that it gives out. Times are in milliseconds since 1970.
struct Numbers: Sendable {
    private(set) var now: Int
    private(set) var lastStamp = 0
    private(set) var lastNumber = 0

    mutating func advance(to milliseconds: Int) { now = max(now, milliseconds) }

    /// Returns the time for a change. It is later than that of each earlier change, even if the clock stands still.
    mutating func stamp() -> Int {
        lastStamp = max(now, lastStamp + 1)
        return lastStamp
    }

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Returns an id like a UUIDv7: ids sort by creation.
    mutating func makeID(at milliseconds: Int) -> String {
        let time = Self.hex(milliseconds, 12)
        return "\(time.prefix(8))-\(time.suffix(4))-7000-8000-\(Self.hex(nextNumber(), 12))"
    }

    private static func hex(_ value: Int, _ width: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
