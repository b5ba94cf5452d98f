/// The server's report that all missed events were sent, or that they cannot be.
struct SyncDone: Decodable {
    let recovered: Bool
    /// The position of this report.
    let cursor: String
}
