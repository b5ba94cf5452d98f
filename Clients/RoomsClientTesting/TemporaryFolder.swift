import Foundation

/// A folder of a test's own, for a client to keep its files in. It is removed with its last reference.
public final class TemporaryFolder: Sendable {
    public let url: URL
    public var path: String { url.path(percentEncoded: false) }

    /// - Parameter preferred: where it is made, if there is such a folder; in memory for one.
    public init(in preferred: String? = nil) {
        let parent = preferred.flatMap { FileManager.default.fileExists(atPath: $0) ? URL(filePath: $0) : nil }
        url = (parent ?? FileManager.default.temporaryDirectory).appending(path: "rooms-client-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        } catch {
            preconditionFailure("no test can do without a temporary folder: \(error)")
        }
    }

    // Left behind if it fails, as a temporary folder may be.
    deinit { try? FileManager.default.removeItem(at: url) }
}
