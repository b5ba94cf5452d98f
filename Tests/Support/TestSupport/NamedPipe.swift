import Glibc

/// A named pipe that a program writes to, read line by line: the program's output, and its end, are
/// known at once.
public final class NamedPipe {
    public let path: String
    private let lines: UnsafeMutablePointer<FILE>

    /// Creates the pipe and opens it for reading, so that the program's open does not wait. Do not
    /// read before a program has opened it.
    ///
    /// - Parameter path: an existing file is replaced. An open pipe works without its name.
    /// - Throws: `WireError`.
    public init(_ path: String) throws(WireError) {
        self.path = path
        unlink(path)
        guard mkfifo(path, 0o600) == 0 else { throw .failed("mkfifo", errno) }
        // A blocking open would wait for a writer here.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw .failed("open", errno) }
        _ = fcntl(descriptor, F_SETFL, 0)
        guard let lines = fdopen(descriptor, "r") else { throw .failed("fdopen", errno) }
        self.lines = lines
    }

    deinit { fclose(lines) }

    /// Waits for the next line; nil once every writer has closed the pipe.
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
