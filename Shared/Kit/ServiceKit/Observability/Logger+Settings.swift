import Glibc
import Logging

/// Services name it without an import of their own: it comes with every context.
public typealias Logger = Logging.Logger

extension Logger {
    /// For standard error, as the settings say.
    public init(_ label: String, configuration: Configuration, sink: @escaping Sink) {
        let levels: [String: Level] = ["debug": .debug, "info": .info, "warning": .warning, "error": .error]
        let format: Format =
            switch configuration.text("LOG_FORMAT") {
            case "text": .text
            case "json": .json
            default: isatty(STDERR_FILENO) == 1 ? .text : .json
            }
        self.init(label, level: levels[configuration.text("LOG_LEVEL")] ?? .info, format: format, sink: sink)
    }
}
