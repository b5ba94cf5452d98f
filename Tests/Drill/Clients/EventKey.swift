import ParlorJSON

/// The identity of an emitted event: 64 bits of FNV-1a over its name and data.
struct EventKey: Hashable, Sendable {
    let hash: UInt64

    init(_ name: some Sequence<UInt8>, _ data: JSONValue) {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        for byte in name { mix(byte) }
        mix(0)
        for byte in data.bytes { mix(byte) }
        self.hash = hash
    }

    /// Creates a key for tests.
    init(hash: UInt64) { self.hash = hash }
}
