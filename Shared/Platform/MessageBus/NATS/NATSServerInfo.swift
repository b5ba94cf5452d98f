import JSON

/// What a NATS server says of itself in its `INFO`.
struct NATSServerInfo {
    /// The longest payload it takes, in bytes, headers included.
    let maxPayload: Int?
    let hasHeaders: Bool
    let wantsTLS: Bool
    /// Itself and the others of its cluster, as clients reach them.
    let servers: [BusAddress]

    /// nil if it is no JSON object.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let info = bytes.value(at: bytes.indices)?.object else { return nil }
        maxPayload = info["max_payload"]?.int
        hasHeaders = info["headers"]?.bool ?? false
        wantsTLS = info["tls_required"]?.bool ?? false
        servers = (info["connect_urls"]?.array ?? []).compactMap { $0.string.flatMap { BusAddress($0) } }
    }
}
