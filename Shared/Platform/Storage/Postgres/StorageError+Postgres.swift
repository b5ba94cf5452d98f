extension StorageError {
    /// What an SQLSTATE means. `message` and `constraint` are of the same failure.
    init(sqlState: String, message: String, constraint: String) {
        switch sqlState {
        case "23505": self = .unique(constraint)
        case "53100": self = .full
        // Out of memory or of connections; a lock or a statement that took too long; undone in favour of another.
        case "53000", "53200", "53300", "53400", "55P03", "57014", "40001", "40P01": self = .busy
        case "XX001", "XX002": self = .corrupt(message)
        case _ where sqlState.hasPrefix("23"): self = .constraint(message)
        case _ where sqlState.hasPrefix("22"), _ where sqlState.hasPrefix("54"): self = .rejected(message)
        // The server goes, the role lacks a right, the database is a read-only copy: somebody puts it right.
        default: self = .io(message)
        }
    }
}
