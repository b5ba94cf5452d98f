import Contracts

/// A manifest, and when it was last announced.
struct KnownManifest {
    let manifest: Manifest
    var announcedAt: Timestamp
}
