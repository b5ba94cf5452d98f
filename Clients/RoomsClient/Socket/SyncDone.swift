/// Says that all that was missed has been told, or that it cannot be.
struct SyncDone: Decodable {
    let recovered: Bool
    /// Where this was so.
    let cursor: String
}
