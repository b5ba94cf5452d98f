/// Reads an input as choices, numbers and texts; once it is used up, all of them are zero or empty.
struct FuzzInput {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func bool() -> Bool { byte() & 1 == 1 }

    mutating func bytes(atMost limit: Int) -> [UInt8] {
        let taken = rest.prefix(limit)
        rest = rest.dropFirst(taken.count)
        return Array(taken)
    }

    /// Returns up to 255 bytes: a length and the bytes after it.
    mutating func chunk() -> [UInt8] { bytes(atMost: Int(byte())) }

    mutating func all() -> [UInt8] { bytes(atMost: rest.count) }

    /// Returns a number of eight bytes, or of those that are left.
    mutating func number() -> UInt64 { bytes(atMost: 8).reduce(0) { $0 << 8 | UInt64($1) } }
}

/// Runs a parser on the bytes in one piece, in the shortest pieces, and in pieces of lengths that the
/// bytes themselves choose. The outcome has to be the same.
///
/// - Throws: if the outcomes differ.
func sameForEverySplit<Outcome: Equatable>(
    _ bytes: [UInt8], _ parse: ([[UInt8]]) throws(FuzzFinding) -> Outcome
) throws(FuzzFinding) -> Outcome {
    let whole = try parse([bytes])
    for pieces in [split(bytes, longest: 1), split(bytes, longest: 23)] {
        let outcome = try parse(pieces)
        try require(outcome == whole, "in \(pieces.count) pieces: \(outcome), in one piece: \(whole)")
    }
    return whole
}

/// Makes longer pieces of longer inputs, so that the number of pieces stays bounded.
private func split(_ bytes: [UInt8], longest: Int) -> [[UInt8]] {
    let scale = 1 + bytes.count / 1024
    var pieces: [[UInt8]] = []
    var at = 0
    while at < bytes.count {
        let choice = Int(bytes[at] &+ UInt8(truncatingIfNeeded: at)) % longest
        let length = min((1 + choice) * scale, bytes.count - at)
        pieces.append(Array(bytes[at..<at + length]))
        at += length
    }
    return pieces
}

extension [UInt8] {
    /// `withUnsafeBytes` with a typed error.
    func withBytes<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = withUnsafeBytes { bytes in Swift.Result { () throws(Failure) in try body(bytes) } }
        return try result.get()
    }
}
