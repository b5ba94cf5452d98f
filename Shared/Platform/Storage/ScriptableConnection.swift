/// A connection that runs several statements without parameters, as migrations need.
protocol ScriptableConnection: Connection {
    func run(script: String) throws(StorageError)

    /// Returns the size of the database's content.
    func usedBytes() throws(StorageError) -> Int

    /// The space that is left on the disk; nil if that is not known.
    var freeBytes: Int? { get }
}
