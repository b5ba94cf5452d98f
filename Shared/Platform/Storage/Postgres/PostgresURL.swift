import CPostgres

/// Where a PostgreSQL database is: `postgres://user:password@host:port/name?…`, as libpq reads it.
///
/// It describes itself without the password, and so does everything that is logged.
public struct PostgresURL: Sendable, CustomStringConvertible {
    let text: String
    public let description: String

    /// The reason why libpq cannot be loaded; nil if it can. Without a URL nothing else of it is
    /// called.
    public static let missingLibrary: String? = load_libpq().map { "libpq is needed: \(String(cString: $0))" }

    /// Nil if libpq cannot read it, or is missing.
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
        // libpq finds this out only when it connects, and whoever waits for a server would wait for ever.
        let ports = named["port"]?.split(separator: ",", omittingEmptySubsequences: true) ?? []
        // A password with a bare @ in it: what follows would be taken for the host, and shown.
        guard named["host"]?.contains("@") != true else { return nil }
        guard ports.allSatisfy({ (UInt16($0) ?? 0) > 0 }) else { return nil }
        self.text = text
        description = "PostgreSQL \(named["dbname"] ?? "") on \(named["host"] ?? named["hostaddr"] ?? "this machine")"
    }

    public static func isScheme(of text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }
}
