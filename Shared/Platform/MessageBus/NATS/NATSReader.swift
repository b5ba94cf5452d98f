/// From a NATS server's bytes to the bus' words.
struct NATSReader: BusReader {
    private var parser = NATSParser()
    private var session: NATSSession

    init(_ session: NATSSession) { self.session = session }

    /// The server begins, with its `INFO`.
    var opening: [UInt8] { [] }

    mutating func read(_ bytes: UnsafeRawBufferPointer, _ body: (BusWord) -> Void) throws(BusReadError) {
        var session = session
        defer { self.session = session }
        try parser.parse(bytes) { session.hear($0, body) }
    }
}
