import Glibc

/// The folder for databases and secrets.
public enum DataFolder {
    /// Makes it, if it is not there. Only the owner may look into it: it holds what people wrote, and the key that signs tokens.
    public static func make(_ path: String) throws(ConfigurationError) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            partial += (partial.isEmpty || partial == "/" ? "" : "/") + part
            guard mkdir(partial, 0o700) != 0, errno != EEXIST else { continue }
            let reason = String(cString: strerror(errno))
            throw ConfigurationError.malformed("DATA_DIR (--data): \(path) cannot be made: \(reason)")
        }
    }
}
