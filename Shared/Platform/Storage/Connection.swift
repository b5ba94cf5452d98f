/// A database inside a transaction. It is valid in the closure that receives it and must not leave it.
///
/// Parameters are `$1 … $n` in the SQL; each must be given. SQL that cannot be prepared, a wrong number of
/// parameters and a write inside `read` are our own mistakes and end the process. Failures of the environment
/// are thrown as `StorageError`.
///
/// Prepared statements are cached by their text. Never build a text from values, and build it from a count only if
/// necessary (pass a list of ids as one parameter, see `SQLValue.list`). Statements that define or drop something are
/// for migrations only. If a write throws an error of its own, it is undone only if it has changed rows. Such a
/// statement changes none, so its effect would stay.
public protocol Connection: AnyObject {
    /// - Returns: the number of rows inserted, changed or deleted.
    @discardableResult
    func execute(_ sql: String, binding parameters: [SQLValue]) throws(StorageError) -> Int

    /// Runs a statement for which nobody needs to wait. On PostgreSQL it is sent with those after it, and so costs no
    /// round trip; SQLite runs it at once. Later statements of the transaction find its changes.
    ///
    /// - Throws: its failure, or that of an earlier one. If it fails only later, the writes of its batch run again, where
    ///   it is waited for, so that no other write fails.
    func executeLater(_ sql: String, binding parameters: [SQLValue]) throws(StorageError)

    /// Calls the body with each row in turn, until it returns false. A row is valid within that call only.
    func forEachRow(_ sql: String, binding parameters: [SQLValue], _ body: (Row) throws -> Bool) throws

    /// Runs a query whose rows are needed only later: for `PendingChanges.load`.
    ///
    /// - Parameter body: called with each row, at once or before the writes of the batch run.
    func queryLater(
        _ sql: String, binding parameters: [SQLValue], _ body: @escaping (Row) -> Void
    ) throws(StorageError)

    /// The record of the current transaction, for Storage itself. Services call the functions built on it
    /// (`afterCommit`, `pending`).
    var record: TransactionRecord { get }
}

extension Connection {
    @discardableResult @inlinable
    public func execute(_ sql: String, _ parameters: any SQLConvertible...) throws(StorageError) -> Int {
        try execute(sql, binding: parameters.map(\.sqlValue))
    }

    @inlinable
    public func executeLater(_ sql: String, _ parameters: any SQLConvertible...) throws(StorageError) {
        try executeLater(sql, binding: parameters.map(\.sqlValue))
    }

    @inlinable
    public func queryLater(
        _ sql: String, _ parameters: any SQLConvertible..., body: @escaping (Row) -> Void
    ) throws(StorageError) {
        try queryLater(sql, binding: parameters.map(\.sqlValue), body)
    }

    @inlinable
    public func query(_ sql: String, _ parameters: any SQLConvertible..., body: (Row) throws -> Void) throws {
        try forEachRow(sql, binding: parameters.map(\.sqlValue)) {
            try body($0)
            return true
        }
    }

    // An engine to which a statement makes no round trip runs it at once.

    public func executeLater(_ sql: String, binding parameters: [SQLValue]) throws(StorageError) {
        try execute(sql, binding: parameters)
    }

    public func queryLater(
        _ sql: String, binding parameters: [SQLValue], _ body: @escaping (Row) -> Void
    ) throws(StorageError) {
        do {
            try forEachRow(sql, binding: parameters) {
                body($0)
                return true
            }
        } catch let error as StorageError {
            throw error
        } catch {
            preconditionFailure("the body throws nothing: \(error)")
        }
    }

    /// Returns the number in the first row, or nil if there is no row.
    func number(_ sql: String, _ parameters: Int...) throws(StorageError) -> Int? {
        do {
            var found: Int?
            try forEachRow(sql, binding: parameters.map { .int($0) }) {
                found = $0.int(0)
                return false
            }
            return found
        } catch let error as StorageError {
            throw error
        } catch {
            preconditionFailure("the body throws nothing: \(error)")
        }
    }

    /// Returns the first row, or nil if there is none. Other rows are not read.
    @inlinable
    public func first<T>(_ sql: String, _ parameters: any SQLConvertible..., body: (Row) throws -> T) throws -> T? {
        var found: T?
        try forEachRow(sql, binding: parameters.map(\.sqlValue)) {
            found = try body($0)
            return false
        }
        return found
    }

    /// Returns true if the query has a row.
    @inlinable
    public func exists(_ sql: String, _ parameters: any SQLConvertible...) throws -> Bool {
        var exists = false
        try forEachRow(sql, binding: parameters.map(\.sqlValue)) { _ in
            exists = true
            return false
        }
        return exists
    }

    @inlinable
    public func all<T>(_ sql: String, _ parameters: any SQLConvertible..., body: (Row) throws -> T) throws -> [T] {
        var found: [T] = []
        try forEachRow(sql, binding: parameters.map(\.sqlValue)) {
            found.append(try body($0))
            return true
        }
        return found
    }
}
