#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The program's terminal: it reads raw keys and draws whole screens. ``close()`` restores the original state.
@MainActor
final class Terminal {
    private let original: termios
    private var shown: [String] = []

    /// Switches the terminal to raw mode; nil if standard input or output is not a terminal.
    init?() {
        var state = termios()
        guard isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &state) == 0 else { return nil }
        original = state
        cfmakeraw(&state)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &state)
        // 1049 is the alternate screen, which restores the previous contents at the end. 2004 is bracketed paste.
        write("\u{1b}[?1049h\u{1b}[?2004h\u{1b}[2J")
    }

    func close() {
        write("\u{1b}[?25h\u{1b}[?2004l\u{1b}[?1049l")
        var state = original
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &state)
    }

    /// Asks for a password on standard error. What the person types is not shown.
    nonisolated static func askForPassword(of username: String) -> String {
        write("Password of \(username): ", to: STDERR_FILENO)
        var state = termios()
        let isTerminal = tcgetattr(STDIN_FILENO, &state) == 0
        var silent = state
        silent.c_lflag &= ~tcflag_t(ECHO)
        if isTerminal { tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) }
        let answer = readLine() ?? ""
        if isTerminal { tcsetattr(STDIN_FILENO, TCSAFLUSH, &state) }
        write("\n", to: STDERR_FILENO)
        return answer
    }

    var size: (columns: Int, rows: Int) {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(window.ws_col), Int(window.ws_row))
    }

    /// Draws lines from the top, none of which may be wider than the terminal. Only changed lines are written.
    ///
    /// - Parameter cursor: the position of the cursor, from 0; nil hides the cursor.
    func show(_ lines: [String], cursor: (column: Int, row: Int)?) {
        var output = "\u{1b}[?25l"
        for (row, line) in lines.enumerated() where row >= shown.count || shown[row] != line {
            output += "\u{1b}[\(row + 1);1H\(line)\u{1b}[0m\u{1b}[K"
        }
        if lines.count < shown.count { output += "\u{1b}[\(lines.count + 1);1H\u{1b}[J" }
        if let cursor { output += "\u{1b}[\(cursor.row + 1);\(cursor.column + 1)H\u{1b}[?25h" }
        shown = lines
        write(output)
    }

    /// Clears the terminal, because its size has changed. The next frame is drawn completely.
    func forget() {
        shown = []
        write("\u{1b}[2J")
    }

    /// Waits for keys. This blocks the thread.
    ///
    /// - Returns: the keys, which may be none; nil at the end of the input.
    nonisolated static func readKeys(with parser: inout KeyParser) -> [Key]? {
        if parser.isInside {
            var poll = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            if systemPoll(&poll, parser.timeoutMilliseconds) == 0 { return parser.finish() }
        }
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count < 0, errno == EINTR { return [] }
        guard count > 0 else { return nil }
        return parser.parse(buffer[..<count])
    }

    private nonisolated static func systemPoll(_ descriptor: inout pollfd, _ milliseconds: Int32) -> Int32 {
        poll(&descriptor, 1, milliseconds)
    }

    private func write(_ text: String) { Self.write(text, to: STDOUT_FILENO) }

    private nonisolated static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                #if canImport(Glibc)
                    let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
                #elseif canImport(Musl)
                    let written = Musl.write(descriptor, rest.baseAddress, rest.count)
                #else
                    let written = Darwin.write(descriptor, rest.baseAddress, rest.count)
                #endif
                if written < 0, errno == EINTR || errno == EAGAIN { continue }
                // If the terminal was closed, the reader ends the program.
                guard written > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
    }
}
