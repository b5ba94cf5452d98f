import Glibc

/// A task such as `parlor verify`. The program runs it instead of serving, and then exits.
public struct Command: Sendable {
    /// The result of a command, which becomes the exit status.
    public enum Outcome: Int32, Sendable {
        case done = 0
        /// The command ran, and reports a problem, such as a difference that is left or a missing
        /// answer.
        case found = 1
    }

    /// The first word of the command line.
    public let name: String
    public let summary: String
    public let settings: [any AnySetting]
    /// The setting whose value is a first argument without a flag.
    var positional: (any AnySetting)?
    /// The command's identity and rights on the bus; nil if it does not connect to one.
    var peer: BusPeer?
    /// The command's work, which may block. The closure that it gets prints a line.
    let perform: @Sendable (Configuration, @escaping @Sendable (String) -> Void) async throws -> Outcome

    /// The status of a command that failed, because of its settings or its environment.
    static let failed: Int32 = 2

    /// - Returns: the exit status: the outcome's, or `failed` after a line on standard error.
    func run(program: String, arguments: [String], environment: [String: String]) async -> Int32 {
        var arguments = arguments
        if let positional, let first = arguments.first, !first.hasPrefix("-") {
            arguments.insert(positional.flag, at: 0)
        }
        let title = "\(program) \(name)"
        do {
            let configuration = try Configuration(settings, arguments: arguments, environment: environment)
            return try await perform(configuration) { Program.write($0, to: STDOUT_FILENO) }.rawValue
        } catch ConfigurationError.inquiry(let inquiry) {
            Program.write(inquiry.answer(program: title, summary: summary, settings), to: STDOUT_FILENO)
            return Outcome.done.rawValue
        } catch {
            Program.write("\(title): \(error)", to: STDERR_FILENO)
            return Self.failed
        }
    }
}
