import Glibc
import Logging

/// Services name it without an import of their own: it comes with every context.
public typealias Logger = Logging.Logger

extension Logger {
    /// The format as a person sets it.
    enum FormatChoice: String, Sendable, CaseIterable {
        /// Text on a terminal, JSON lines otherwise.
        case auto
        case text, json
    }

    /// For standard error, as the settings say.
    public init(_ label: String, configuration: Configuration, sink: @escaping Sink) {
        let format: Format =
            switch configuration[.logFormat] {
            case .text: .text
            case .json: .json
            case .auto: isatty(STDERR_FILENO) == 1 ? .text : .json
            }
        self.init(label, level: configuration[.logLevel], format: format, sink: sink)
    }
}
