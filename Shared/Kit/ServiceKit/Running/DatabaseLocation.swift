import Glibc
import ParlorLogging
import ParlorStorage
import ParlorWorkers

/// The location of a service's database: the setting `DATABASE_URL`, otherwise a file in the data folder.
enum DatabaseLocation: CustomStringConvertible {
    /// `sqlite:PATH`. A PATH that ends with a slash is a folder for the files of several services.
    case file(String, folder: String?)
    /// `postgres://…`, with a schema of the service's name.
    case schema(String, PostgresURL)

    /// The wait for programs with another number of logs to end: those that start at the same time try again, too.
    private static let maxWaitForLogs: Duration = .seconds(10)
    /// The pause between attempts to open the database, in addition to `PostgresSession.pauses`.
    private static let pause: Duration = .milliseconds(200)

    init(of service: String, _ configuration: Configuration) throws(ConfigurationError) {
        guard BusPeer.isServiceName(service) else {
            throw .malformed("\(service) is no name of a service: one word of a-z, 0-9 and _, which is not reserved")
        }
        guard let url = configuration[.databaseURL] else {
            let folder = configuration[.data]
            self = .file("\(folder)/\(service).db", folder: folder)
            return
        }
        let scheme = "sqlite:"
        if url.hasPrefix(scheme), url.count > scheme.count {
            let path = String(url.dropFirst(scheme.count))
            self = path.hasSuffix("/") ? .file("\(path)\(service).db", folder: path) : .file(path, folder: nil)
        } else if let server = PostgresURL(url) {
            self = .schema(service, server)
        } else if PostgresURL.isScheme(of: url), let reason = PostgresURL.missingLibrary {
            throw .malformed("DATABASE_URL (--database-url): \(reason)")
        } else {
            // Do not show the value, which may contain a password.
            throw .malformed(
                "DATABASE_URL (--database-url) has to be sqlite:FILE, sqlite:FOLDER/ or postgres://USER@HOST/DATABASE")
        }
    }

    var description: String {
        switch self {
        case .file(let path, _): path
        case .schema(let schema, let url): "\(schema) in \(url)"
        }
    }

    /// - Throws: `ConfigurationError` if the database cannot have so many logs.
    func requireSupport(ofLogs logs: Int) throws(ConfigurationError) {
        if logs > 1, case .file = self {
            throw .malformed(
                "LOGS (--logs) has to be 1 with SQLite, which writes one transaction at a time, and is \(logs)")
        }
    }

    /// Opens the database, creates it if it is missing, and locks out processes that would not receive its
    /// changes.
    ///
    /// Waits without limit for a server that is unavailable or in use, and logs that. For a file that is in use it
    /// waits at most `DataLock.maxWait`, and for programs with another number of logs `maxWaitForLogs`.
    ///
    /// - Returns: the database, and the lock to hold while it is used.
    /// - Throws: `ConfigurationError`, `DataLockError`, `MigrationError`, `PostgresDatabase.OtherLogs`, `StorageError`;
    ///   `CancellationError`.
    func open(
        _ migrations: [Migration], _ configuration: DatabaseConfiguration, alone: Bool, on workers: WorkerPool,
        log: Logger
    ) async throws -> (database: any Database, lock: DataLock?) {
        switch self {
        case .file(let path, let folder):
            if let folder { try DataFolder.make(folder) }
            let lock = try await DataLock.acquire(path, alone: alone, log: log)
            let database = try await workers.run {
                try SQLiteDatabase(.file(path), migrations: migrations, configuration: configuration)
            }
            return (database, lock)
        case .schema(let schema, let url):
            var failure = RepeatedFailure()
            var end: ContinuousClock.Instant?
            while true {
                do {
                    let database = try await workers.run {
                        try PostgresDatabase(
                            url, schema: schema, claim: alone ? .alone : .shared, migrations: migrations,
                            configuration: configuration)
                    }
                    return (database, nil)
                } catch let error as StorageError where error.isRetryable {
                    end = nil
                    if failure.note("\(error)") {
                        log.warning("waiting for the database", ["database": "\(self)", "reason": "\(error)"])
                    }
                } catch let error as PostgresDatabase.OtherLogs {
                    guard ContinuousClock.now < end ?? .now + .seconds(1) else { throw error }
                    end = end ?? .now + Self.maxWaitForLogs
                }
                // Not always the same, as programs that start together are in each other's way.
                try await Task.sleep(for: Self.pause * Double.random(in: 0.5...1.5))
            }
        }
    }

    /// - Throws: `StorageError`, `MigrationError` if the database does not exist or its schema is not the
    ///   service's current one.
    func openForMaintenance(_ migrations: [Migration]) throws -> any MaintenanceDatabase {
        let database: any MaintenanceDatabase =
            switch self {
            case .file(let path, _): try DatabaseFile(existing: path)
            case .schema(let schema, let url): try PostgresMaintenance(existing: url, schema: schema)
            }
        try database.requireSchema(migrations)
        return database
    }
}

/// The folder for databases and secrets.
public enum DataFolder {
    /// Creates the folder if it does not exist. Only the owner has access: it contains people's messages, and
    /// the key that signs tokens.
    public static func make(_ path: String) throws(ConfigurationError) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            partial += (partial.isEmpty || partial == "/" ? "" : "/") + part
            guard mkdir(partial, 0o700) != 0, errno != EEXIST else { continue }
            let reason = String(cString: strerror(errno))
            throw ConfigurationError.malformed("the folder \(path) cannot be created: \(reason)")
        }
    }
}
