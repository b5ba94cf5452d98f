import ParlorContracts
import ParlorEventLog

// The bytes of a cursor, which clients carry with each request: a byte for the format, then each database once, with the
// positions in its logs. Numbers are unsigned LEB128, as in Protocol Buffers and DWARF (section 7.6).
extension SyncCursor {
    /// Not the first byte of a JSON object, with which a cursor of 0.1.0 begins.
    private static let format: UInt8 = 2
    /// The length of a digest of 52 bits, as our services have. Those of others may have 64.
    private static let digestBytes = 7

    var bytes: [UInt8] {
        var bytes = [Self.format]
        var rest = logs.sorted { $0.key < $1.key }[...]
        while let (first, state) = rest.first {
            let database = rest.prefix {
                $0.key.service == first.service && $0.value.position.databaseID == state.position.databaseID
            }
            rest = rest.dropFirst(database.count)
            bytes.append(counted: Array(first.service.utf8))
            bytes.append(databaseID: state.position.databaseID)
            bytes.append(number: database.count)
            for (logID, state) in database {
                // The two lowest bits are for what is rare: events of the next entry that were returned, a long digest.
                let digest = UInt64(truncatingIfNeeded: state.position.digest)
                let isLong = digest >> (8 * Self.digestBytes) != 0
                bytes.append(number: logID.number << 2 | (state.taken > 0 ? 1 : 0) | (isLong ? 2 : 0))
                bytes.append(number: state.position.seq)
                bytes.append(digest, length: Self.digestBytes + (isLong ? 1 : 0))
                if state.taken > 0 { bytes.append(number: state.taken) }
            }
        }
        return bytes
    }

    /// Parses the result of `bytes`; nil for anything else.
    init?(bytes: ArraySlice<UInt8>) {
        guard bytes.first == Self.format else { return nil }
        var rest = bytes.dropFirst()
        var logs: [LogID: LogState] = [:]
        while !rest.isEmpty {
            guard let service = rest.popCounted(), let databaseID = rest.popDatabaseID(), let count = rest.popNumber()
            else { return nil }
            for _ in 0..<count {
                guard let number = rest.popNumber(), let seq = rest.popNumber(),
                    let digest = rest.popWord(length: Self.digestBytes + (number & 2) / 2)
                else { return nil }
                guard let taken = number & 1 == 1 ? rest.popNumber() : 0 else { return nil }
                let position = LogPosition(databaseID: databaseID, seq: seq, digest: Int(truncatingIfNeeded: digest))
                logs[LogID(String(decoding: service, as: UTF8.self), number >> 2)] = LogState(
                    position: position, taken: taken)
            }
        }
        self.init(logs: logs)
    }
}

// Databases have random ids in base 36 (`DatabaseIdentity`), which take two thirds of their text. A service in another language
// may have any text.
private enum Base36 {
    static let radix = 36
    /// The digits that a 64-bit word holds.
    static let digits = 12

    /// Returns the number of bytes for so many digits, of 5.17 bits each.
    static func length(_ digits: Int) -> Int { (digits * 5170 + 7999) / 8000 }

    static func accepts(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: false
        }
    }
}

extension [UInt8] {
    /// - Parameter number: not negative.
    fileprivate mutating func append(number: Int) {
        var number = UInt(bitPattern: number)
        while number >= 0x80 {
            append(UInt8(truncatingIfNeeded: number) | 0x80)
            number >>= 7
        }
        append(UInt8(number))
    }

    fileprivate mutating func append(counted bytes: [UInt8]) {
        append(number: bytes.count)
        append(contentsOf: bytes)
    }

    /// Appends the lowest bytes of a word, the lowest first.
    fileprivate mutating func append(_ word: UInt64, length: Int) {
        for byte in 0..<length { append(UInt8(truncatingIfNeeded: word >> (8 * byte))) }
    }

    /// Appends the length of the id, doubled, and 1 if it is not in base 36, and then its bytes.
    fileprivate mutating func append(databaseID: String) {
        var rest = Array(databaseID.utf8)[...]
        let isPacked = rest.allSatisfy(Base36.accepts)
        append(number: rest.count << 1 | (isPacked ? 0 : 1))
        guard isPacked else { return append(contentsOf: rest) }
        while !rest.isEmpty {
            let digits = rest.prefix(Base36.digits)
            rest = rest.dropFirst(digits.count)
            let word = UInt64(String(decoding: digits, as: UTF8.self), radix: Base36.radix) ?? 0
            append(word, length: Base36.length(digits.count))
        }
    }
}

extension ArraySlice<UInt8> {
    /// Returns a number that is not negative; nil for anything else.
    fileprivate mutating func popNumber() -> Int? {
        var number: UInt = 0
        for shift in stride(from: 0, to: Int.bitWidth - 1, by: 7) {
            guard let byte = popFirst() else { return nil }
            number |= UInt(byte & 0x7F) << shift
            if byte < 0x80 { return Int(number) }
        }
        return nil
    }

    fileprivate mutating func pop(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= self.count else { return nil }
        defer { self = dropFirst(count) }
        return prefix(count)
    }

    fileprivate mutating func popCounted() -> ArraySlice<UInt8>? { popNumber().flatMap { pop($0) } }

    fileprivate mutating func popWord(length: Int) -> UInt64? {
        pop(length)?.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    fileprivate mutating func popDatabaseID() -> String? {
        guard let head = popNumber() else { return nil }
        var missing = head >> 1
        guard head & 1 == 0 else { return pop(missing).map { String(decoding: $0, as: UTF8.self) } }
        var id = ""
        while missing > 0 {
            let digits = Swift.min(missing, Base36.digits)
            missing -= digits
            guard let word = popWord(length: Base36.length(digits)) else { return nil }
            let text = String(word, radix: Base36.radix)
            id += String(repeating: "0", count: Swift.max(digits - text.utf8.count, 0)) + text
        }
        return id
    }
}
