/// A connection that runs several statements without parameters, as migrations need.
protocol ScriptableConnection: Connection {
    func run(script: String) throws(StorageError)
}
