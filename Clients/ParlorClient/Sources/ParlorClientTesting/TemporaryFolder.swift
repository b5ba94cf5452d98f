import Foundation

/// A folder for one test. It is removed with the last reference to this object.
public final class TemporaryFolder: Sendable {
    /// The folder, which exists.
    public let url: URL
    /// The folder's path.
    public var path: String { url.path(percentEncoded: false) }

    /// Creates an empty folder.
    ///
    /// - Parameter preferred: the parent folder, for example one in memory. If it does not exist, the system's folder
    ///   for temporary files is used.
    public init(in preferred: String? = nil) {
        let parent = preferred.flatMap { FileManager.default.fileExists(atPath: $0) ? URL(filePath: $0) : nil }
        url = (parent ?? FileManager.default.temporaryDirectory).appending(path: "rooms-client-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        } catch {
            preconditionFailure("a temporary folder cannot be created: \(error)")
        }
    }

    // `try?`: a folder that cannot be removed is left to the system.
    deinit { try? FileManager.default.removeItem(at: url) }
}
