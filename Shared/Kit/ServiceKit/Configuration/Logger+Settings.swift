import Glibc
import ParlorLogging

/// An alias, so that services can use the name without an import: a logger comes with every context.
public typealias Logger = ParlorLogging.Logger

extension Logger {
    /// The values of `LOG_FORMAT`.
    enum FormatChoice: String, Sendable, CaseIterable {
        /// Text on a terminal, JSON lines otherwise.
        case auto
        case text, json
    }

    /// Creates the logger for standard error that the settings describe.
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
