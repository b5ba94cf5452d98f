/// A connection that runs several statements without parameters, as migrations need.
protocol ScriptableConnection: Connection {
    func run(script: String) throws(StorageError)

    /// Returns the size of the database's content, and of the space that is left; nil if that is not known. In bytes.
    func space() throws(StorageError) -> (used: Int, free: Int?)
}
