import CParlorPostgres

/// The address of a PostgreSQL database: `postgres://user:password@host:port/name?…`, in libpq's form.
///
/// Its description, and so every log entry, omits the password.
public struct PostgresURL: Sendable, CustomStringConvertible {
    let text: String
    public let description: String

    /// The reason why libpq cannot be loaded, or is older than pipelines; nil if it can be used. Nothing else of libpq is
    /// called without a URL, and there is no URL without libpq.
    public static let missingLibrary: String? = load_libpq().map {
        "libpq 14 or newer is needed: \(String(cString: $0))"
    }

    /// Parses a URL; nil if libpq cannot parse it, or is missing.
    public init?(_ text: String) {
        guard Self.isScheme(of: text), !text.utf8.contains(0), Self.missingLibrary == nil,
            let options = PQconninfoParse(text, nil)
        else { return nil }
        defer { PQconninfoFree(options) }
        var named: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { named[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        // libpq would reject a bad port only when it connects, and a program that waits for its server would then
        // wait for ever.
        let ports = named["port"]?.split(separator: ",", omittingEmptySubsequences: true) ?? []
        // With an unescaped @ in the password, its rest would be taken for the host, and shown.
        guard named["host"]?.contains("@") != true else { return nil }
        guard ports.allSatisfy({ (UInt16($0) ?? 0) > 0 }) else { return nil }
        self.text = text
        description = "PostgreSQL \(named["dbname"] ?? "") on \(named["host"] ?? named["hostaddr"] ?? "this machine")"
    }

    public static func isScheme(of text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }
}
