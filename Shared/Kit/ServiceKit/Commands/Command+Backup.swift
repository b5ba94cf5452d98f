import ParlorStorage

extension Command {
    private static let target = Setting(
        "BACKUP_TO", flag: "--to", .path, "Folder to create; an existing one must be empty")

    /// Copies databases and secrets, even while they are in use.
    ///
    /// - Parameter services: all services of the program, in the order in which they start.
    public static func backup(_ services: [any Service.Type]) -> Command {
        Command(
            name: "backup",
            summary: """
                Copies the data folder, also while Parlor runs: each database as of one moment, and the secrets.
                Exit status: 0 when all of it is on disk, otherwise 2 and there is no backup. See docs/backups.md.
                """,
            settings: [Setting.data, Setting.databaseURL, target]
        ) { configuration, print in
            guard let folder = configuration[target] else { throw ConfigurationError.missingValue(target.flag) }
            // Copy a service before the services that it refers to. Otherwise the backup could have data of a room
            // that it lacks, which is worse than an empty room.
            let databases = try services.reversed().map { service in
                switch try DatabaseLocation(of: service.name, configuration) {
                case .file(let path, _): path
                case .schema(_, let url):
                    throw BackupError("the databases are in \(url): copy them with pg_dump, see docs/postgres.md")
                }
            }
            let backup = Backup(of: configuration[.data], databases: databases, to: folder)
            let files = try backup.run()
            print("\(files) files are in \(folder)")
            return .done
        }
    }
}
