import ParlorWorkers

/// A failure of a database that is not our own mistake.
public enum StorageError: Error, Equatable, CustomStringConvertible {
    /// The queue is full; nothing was done.
    case overloaded
    /// A lock was held longer than we wait; with PostgreSQL also a timeout, a deadlock, or a server without
    /// memory or connections.
    case busy
    /// The disk is full, or the database has reached its limit.
    case full
    /// The file system or the connection failed, with its message.
    case io(String)
    case corrupt(String)
    /// Another row has this value already. The name is that of the unique index if it is over an expression
    /// (`lower(username)`); over plain columns, each engine has its own form.
    case unique(String)
    /// A NOT NULL, CHECK or foreign key constraint failed.
    case constraint(String)
    /// Text cannot be stored, as it contains a NUL.
    case unstorableText
    /// The engine refused a value at run time.
    case rejected(String)
    case closed

    public var description: String {
        switch self {
        case .overloaded: "too many requests wait for the database"
        case .busy: "the database is in use without a pause; try again when less is written"
        case .full: "there is no space left"
        case .io(let what), .corrupt(let what), .rejected(let what), .constraint(let what): what
        case .unique(let index): "another row has this value: \(index)"
        case .unstorableText: "a text contains a NUL"
        case .closed: "the database is closed"
        }
    }

    /// True if the same call may succeed later.
    public var isRetryable: Bool {
        switch self {
        case .overloaded, .busy, .full, .io, .closed: true
        case .corrupt, .unique, .constraint, .unstorableText, .rejected: false
        }
    }
}

extension StorageError {
    init(_ refusal: BlockingQueueError) {
        switch refusal {
        case .full: self = .overloaded
        case .closed: self = .closed
        }
    }
}
