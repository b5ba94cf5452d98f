import Glibc
import ParlorContracts
import ParlorStorage

/// The system's time with an offset in milliseconds from a file, which is read each time. `parlor-drill`
/// changes the clock of a process with it.
public struct SteppedClock: WallClock {
    private let descriptor: Int32

    /// Opens the file; nil if it cannot be read. It stays open while the process lives.
    public init?(file path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
    }

    public func now() -> Timestamp {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        let text = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).trimmed
        return SystemClock().now().adding(.milliseconds(Int(text) ?? 0))
    }
}

extension Row {
    /// Reads a column of milliseconds.
    @inlinable public func time(_ column: Int) -> Timestamp { Timestamp(milliseconds: int(column)) }
}
