import Glibc

/// A child process. It ends with the thread that started it.
public struct ChildProcess: Sendable {
    public let id: pid_t

    public enum End: Sendable, Equatable, CustomStringConvertible {
        case status(Int32)
        case signal(Int32)

        public var description: String {
            switch self {
            case .status(let status): "with status \(status)"
            case .signal(let number): "by signal \(number)"
            }
        }
    }

    public struct Failed: Error, CustomStringConvertible {
        public let description: String
    }

    /// - Parameters:
    ///   - environment: added to this process' own.
    ///   - output: the file that becomes its standard output, emptied.
    ///   - log: the file that its standard error is added to.
    public init(
        _ command: [String], environment: [String: String] = [:], output: String, log: String
    ) throws(Failed) {
        // setpriv ends it with its parent: a killed test leaves no process behind.
        let arguments = ["setpriv", "--pdeathsig", "KILL", "--"] + command
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        var pid: pid_t = 0
        let code = Self.withStrings(arguments) { arguments in
            Self.withStrings(Self.environment(adding: environment)) { environment in
                posix_spawnp(&pid, "setpriv", &actions, nil, arguments, environment)
            }
        }
        guard code == 0 else {
            throw Failed(description: "\(command[0]) cannot be started: \(String(cString: strerror(code)))")
        }
        id = pid
    }

    public func signal(_ number: Int32) { kill(id, number) }

    /// Returns how it ended; nil while it runs.
    public func end() -> End? {
        var status: Int32 = 0
        guard waitpid(id, &status, WNOHANG) == id else { return nil }
        // WIFEXITED, WEXITSTATUS and WTERMSIG, which are macros.
        return status & 0x7F == 0 ? .status((status >> 8) & 0xFF) : .signal(status & 0x7F)
    }

    private static func environment(adding own: [String: String]) -> [String] {
        var found: [String] = []
        var entry = environ
        while let text = entry.pointee {
            let line = String(cString: text)
            if !own.keys.contains(where: { line.hasPrefix("\($0)=") }) { found.append(line) }
            entry += 1
        }
        return found + own.map { "\($0)=\($1)" }
    }

    private static func withStrings<T>(
        _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> T
    ) -> T {
        var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return body(&pointers)
    }
}
