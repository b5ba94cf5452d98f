/// The server's `sync:done`: all missed events were sent, or they cannot be sent.
struct SyncDone: Decodable {
    let recovered: Bool
    /// The position up to which the client now has all events.
    let cursor: String
}
