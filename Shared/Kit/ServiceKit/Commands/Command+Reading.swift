import ParlorStorage

extension Command {
    /// Returns a command of a service's own for operators, one of `Service.commands`. It reads the service's
    /// database, also while Parlor runs.
    ///
    /// - Parameters:
    ///   - name: the first word of the command line, which no other command of the program has.
    ///   - settings: those in addition to the database's location.
    ///   - body: reads one snapshot, and prints lines. It must not write.
    public static func reading(
        _ service: any Service.Type, _ name: String, _ summary: String, _ settings: [any AnySetting] = [],
        _ body:
            @escaping @Sendable (
                _ connection: any Connection, _ configuration: Configuration, _ print: (String) -> Void
            ) throws -> Outcome
    ) -> Command {
        Command(name: name, summary: summary, settings: [Setting.data, Setting.databaseURL] + settings) {
            configuration, print in
            try DatabaseLocation(of: service.name, configuration).openForMaintenance(service.migrations)
                .read { try body($0, configuration, print) }
        }
    }
}
