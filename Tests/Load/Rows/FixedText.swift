/// A text at a fixed address, with a NUL after it: a database's C functions take it without a copy.
final class FixedText {
    /// The bytes without the NUL.
    let count: Int
    let start: UnsafeMutablePointer<CChar>

    /// Creates a text of so many bytes that ends with the number.
    init(_ beginning: String = "", padded count: Int, _ number: Int = 0) {
        self.count = count
        start = .allocate(capacity: count + 1)
        start.initialize(repeating: CChar(UInt8(ascii: "0")), count: count)
        (start + count).initialize(to: 0)
        for (index, byte) in beginning.utf8.prefix(count).enumerated() { start[index] = CChar(byte) }
        end(with: number)
    }

    deinit { start.deallocate() }

    /// Replaces the number at the end. Not allowed while a statement that has it bound is running.
    func end(with number: Int) {
        var (rest, index) = (number, count - 1)
        while rest > 0, index >= 0 {
            start[index] = CChar(UInt8(ascii: "0") + UInt8(rest % 10))
            (rest, index) = (rest / 10, index - 1)
        }
    }
}

/// The texts of sends, as long as real ones.
struct SendTexts {
    let rooms: [FixedText]
    /// The one who reads each room.
    let people: [FixedText]
    /// The short forms of ids.
    let messageID = FixedText("m", padded: 16)
    let tempID = FixedText("t", padded: 16)
    let senderID = FixedText("s", padded: 16)

    let requestID = FixedText("request", padded: 16)
    let text = FixedText("text", padded: 78)
    let participants = FixedText("participants", padded: 79)
    let emissions = FixedText("emissions", padded: 1070)

    init(rooms count: Int) {
        rooms = (0..<count).map { FixedText("room", padded: 36, $0) }
        people = (0..<count).map { FixedText("person", padded: 36, $0) }
    }
}
