import Workers

/// Failures of a database that are not mistakes of ours.
public enum StorageError: Error, Equatable {
    /// The queue is full; nothing was done.
    case overloaded
    /// Another process holds the lock for longer than we wait.
    case busy
    /// The disk, or what the database may take of it, is full.
    case full
    /// The file system or the connection failed, with its message.
    case io(String)
    case corrupt(String)
    /// Another row has this value already. The name is that of the unique index where it is over an expression
    /// (`lower(username)`); over plain columns, engines name it each in their own way.
    case unique(String)
    /// NOT NULL, CHECK or a foreign key.
    case constraint(String)
    /// Text that cannot be stored: it has a NUL in it.
    case unstorableText
    /// The engine refused a value that the SQL met while it ran.
    case rejected(String)
    case closed

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
