import Glibc

/// Lines are read through spans: checked as arrays are, but without counting references at every step, which made up
/// most of the time that a request took.
extension Span<UInt8> {
    func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        guard start < count else { return nil }
        return withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = memchr(base + start, Int32(byte), bytes.count - start)
            else {
                return nil
            }
            return UnsafeRawPointer(found) - base
        }
    }

    /// Looks at every byte, also behind one that does not belong: without a way out the loop is vectorised, and nearly
    /// every byte that comes here belongs.
    @inline(__always) func allSatisfy(in range: Range<Int>, _ belongs: (UInt8) -> Bool) -> Bool {
        extracting(range).withUnsafeBufferPointer { bytes in
            var all = true
            for byte in bytes { all = belongs(byte) && all }
            return all
        }
    }

    @inline(__always) func allSatisfy(_ belongs: (UInt8) -> Bool) -> Bool { allSatisfy(in: 0..<count, belongs) }

    /// A range without the white space (`OWS`) at its ends.
    func trimming(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start].isBlank { start += 1 }
        while start < end, self[end - 1].isBlank { end -= 1 }
        return start..<end
    }

    /// Whether the bytes of a range spell an ASCII text, in upper or lower case.
    func equals(_ text: String, ignoringCaseIn range: Range<Int>) -> Bool {
        let wanted = text.utf8
        guard range.count == wanted.count else { return false }
        var at = range.lowerBound
        for byte in wanted {
            if self[at].lowercased != byte.lowercased { return false }
            at += 1
        }
        return true
    }

    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
