import Foundation

/// A folder for one test. It is removed with the last reference to this object.
public final class TemporaryFolder: Sendable {
    public let url: URL
    public var path: String { url.path(percentEncoded: false) }

    /// - Parameter preferred: the parent folder, for example one in memory; ignored if it does not exist.
    public init(in preferred: String? = nil) {
        let parent = preferred.flatMap { FileManager.default.fileExists(atPath: $0) ? URL(filePath: $0) : nil }
        url = (parent ?? FileManager.default.temporaryDirectory).appending(path: "rooms-client-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        } catch {
            preconditionFailure("no test can do without a temporary folder: \(error)")
        }
    }

    // A folder that cannot be removed is left for the system to clean up.
    deinit { try? FileManager.default.removeItem(at: url) }
}
