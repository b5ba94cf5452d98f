/// Parses a terminal's bytes into keys: characters, ECMA-48 control sequences, and xterm's variants of them. The bytes
/// may arrive in chunks of any size.
///
/// The Escape key sends the same byte with which a sequence begins. So the reader calls ``finish()`` if no other byte
/// follows for ``timeoutMilliseconds``.
struct KeyParser: Sendable {
    private var pending: [UInt8] = []
    /// The pasted text so far (xterm's bracketed paste mode, 2004).
    private var pasted: [UInt8] = []
    private var isPasting = false
    /// True inside a sequence that is too long, whose bytes are dropped up to its final byte.
    private var isDropping = false
    /// The maximum length of a sequence in bytes. A longer one is not a key, and is dropped to its end.
    private static let maxSequence = 16
    /// The maximum length of a paste in bytes, well above the longest message. The rest is dropped.
    private static let maxPaste = 1 << 16
    private static let escape: UInt8 = 0x1b
    private static let pasteStart = Array("\u{1b}[200~".utf8)
    private static let pasteEnd = Array("\u{1b}[201~".utf8)

    init() {}

    /// True while a key or a paste may be incomplete, or a long sequence is being dropped.
    var isInside: Bool { !pending.isEmpty || isPasting || isDropping }

    /// The time without a byte after which a sequence or paste has ended. It identifies the Escape key, and ends a
    /// paste whose end was lost.
    var timeoutMilliseconds: Int32 { isPasting ? 1000 : 30 }

    mutating func parse(_ bytes: some Sequence<UInt8>) -> [Key] {
        var keys: [Key] = []
        for byte in bytes {
            if isPasting {
                keys += takePasted(byte)
            } else if isDropping, byte != Self.escape {
                isDropping = !Self.ends(byte)
            } else {
                // An escape byte begins a new sequence. If one was being dropped, its final byte was lost.
                isDropping = false
                pending.append(byte)
                keys += takeKeys()
            }
        }
        return keys
    }

    /// Ends a sequence or paste, because no byte has followed in time.
    mutating func finish() -> [Key] {
        if isPasting { return endPaste() }
        defer { (pending, isDropping) = ([], false) }
        return pending == [Self.escape] ? [.escape] : []
    }

    private mutating func takeKeys() -> [Key] {
        guard let first = pending.first else { return [] }
        switch first {
        case Self.escape: return takeSequence()
        case 0x0d, 0x0a: return take(.enter)
        case 0x09: return take(.tab)
        case 0x7f, 0x08: return take(.backspace)
        case 0x01...0x1a: return take(.control(Character(Unicode.Scalar(first + 0x60))))
        case ..<0x20: return take(nil)
        default: return takeCharacter(first)
        }
    }

    private mutating func take(_ key: Key?) -> [Key] {
        pending = []
        return key.map { [$0] } ?? []
    }

    private mutating func takeCharacter(_ first: UInt8) -> [Key] {
        let length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
        guard pending.count == length else { return [] }
        var (decoder, bytes) = (UTF8(), pending.makeIterator())
        guard case .scalarValue(let scalar) = decoder.decode(&bytes) else { return take(nil) }
        return take(.character(Character(scalar)))
    }

    private mutating func takePasted(_ byte: UInt8) -> [Key] {
        pasted.append(byte)
        guard !pasted.suffix(Self.pasteEnd.count).elementsEqual(Self.pasteEnd) else {
            pasted.removeLast(Self.pasteEnd.count)
            return endPaste()
        }
        if pasted.count > Self.maxPaste + Self.pasteEnd.count { pasted.remove(at: Self.maxPaste) }
        return []
    }

    private mutating func endPaste() -> [Key] {
        let text = String(decoding: pasted.prefix(Self.maxPaste), as: UTF8.self)
        (pasted, isPasting) = ([], false)
        let lines = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n").replacing("\t", with: " ")
        let clean = String(lines.unicodeScalars.filter { $0 == "\n" || $0.properties.generalCategory != .control })
        return clean.isEmpty ? [] : [.paste(clean)]
    }

    private mutating func takeSequence() -> [Key] {
        guard pending.count > 1 else { return [] }
        // Two escape bytes in a row: the first one was the Escape key.
        if pending[1] == Self.escape {
            pending = [Self.escape]
            return [.escape]
        }
        guard pending[1] == UInt8(ascii: "[") || pending[1] == UInt8(ascii: "O") else { return take(nil) }
        guard pending.count > 2, let last = pending.last else { return [] }
        guard Self.ends(last) else {
            guard pending.count > Self.maxSequence else { return [] }
            isDropping = true
            return take(nil)
        }
        switch last {
        case UInt8(ascii: "A"): return take(.up)
        case UInt8(ascii: "B"): return take(.down)
        case UInt8(ascii: "C"): return take(.right)
        case UInt8(ascii: "D"): return take(.left)
        case UInt8(ascii: "H"): return take(.home)
        case UInt8(ascii: "F"): return take(.end)
        case UInt8(ascii: "~") where pending == Self.pasteStart:
            isPasting = true
            return take(nil)
        case UInt8(ascii: "~"): return take(Self.numbered[pending[2]])
        default: return take(nil)
        }
    }

    /// Returns true for a final byte, which ends a sequence (ECMA-48, 5.4).
    private static func ends(_ byte: UInt8) -> Bool { (0x40...0x7e).contains(byte) }

    private static let numbered: [UInt8: Key] = [
        UInt8(ascii: "1"): .home, UInt8(ascii: "3"): .delete, UInt8(ascii: "4"): .end, UInt8(ascii: "5"): .pageUp,
        UInt8(ascii: "6"): .pageDown, UInt8(ascii: "7"): .home, UInt8(ascii: "8"): .end,
    ]
}
