import Glibc

/// The folder for databases and secrets, and where in it or elsewhere a service's database is.
enum DataFolder {
    /// Only the owner may look into it: it holds what people wrote, and the key that signs tokens.
    static func make(_ path: String) throws(ConfigurationError) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            partial += (partial.isEmpty || partial == "/" ? "" : "/") + part
            guard mkdir(partial, 0o700) != 0, errno != EEXIST else { continue }
            let reason = String(cString: strerror(errno))
            throw ConfigurationError.malformed("DATA_DIR (--data): \(path) cannot be made: \(reason)")
        }
    }

    /// `sqlite:PATH`, where a PATH that ends with a slash is a folder for the files of several services; else the data folder.
    ///
    /// - Returns: the file's path, and the folder that is to be made for it.
    static func database(
        of service: String, _ configuration: Configuration
    ) throws(ConfigurationError) -> (path: String, folder: String?) {
        guard let url = configuration.optional(Setting.databaseURL.name) else {
            let folder = configuration.text(Setting.data.name)
            return ("\(folder)/\(service).db", folder)
        }
        let scheme = "sqlite:"
        guard url.hasPrefix(scheme), url.count > scheme.count else {
            throw ConfigurationError.malformed(
                "DATABASE_URL (--database-url) has to be sqlite:FILE or sqlite:FOLDER/, which is what this version can use"
            )
        }
        let path = String(url.dropFirst(scheme.count))
        return path.hasSuffix("/") ? ("\(path)\(service).db", path) : (path, nil)
    }
}
