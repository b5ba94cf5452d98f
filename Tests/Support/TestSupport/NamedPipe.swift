import Glibc

/// A file that a program writes to, and whose lines are read here as they come: with its output there, what it says is known at
/// once, and its end.
public final class NamedPipe {
    public let path: String
    private let lines: UnsafeMutablePointer<FILE>

    /// Made, and open for reading: a program that opens it does not wait. Nothing is to be read before one has.
    ///
    /// - Parameter path: what was there before goes. The pipe stays; open, it serves without its name.
    /// - Throws: `WireError`.
    public init(_ path: String) throws(WireError) {
        self.path = path
        unlink(path)
        guard mkfifo(path, 0o600) == 0 else { throw .failed("mkfifo", errno) }
        // Blocking, it would wait for a writer here.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw .failed("open", errno) }
        _ = fcntl(descriptor, F_SETFL, 0)
        guard let lines = fdopen(descriptor, "r") else { throw .failed("fdopen", errno) }
        self.lines = lines
    }

    deinit { fclose(lines) }

    /// Waits for the next line; nil once everyone who had it open for writing has closed it.
    public func line() -> String? {
        var text: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(text) }
        let length = getline(&text, &size, lines)
        guard length > 0, let text else { return nil }
        if text[length - 1] == 10 { text[length - 1] = 0 }
        return String(cString: text)
    }
}
