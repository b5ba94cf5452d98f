import Foundation

/// A test's own folder, which is removed with its last reference.
public final class TemporaryFolder: Sendable {
    public let url: URL
    public var path: String { url.path(percentEncoded: false) }

    /// - Parameter preferred: the parent, if that exists.
    public init(in preferred: String? = nil) {
        let parent = preferred.flatMap { FileManager.default.fileExists(atPath: $0) ? URL(filePath: $0) : nil }
        url = (parent ?? FileManager.default.temporaryDirectory).appending(path: "parlor-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        } catch {
            preconditionFailure("no test can do without a temporary folder: \(error)")
        }
    }

    // A failure leaves the folder behind, as is usual for temporary ones.
    deinit { try? FileManager.default.removeItem(at: url) }

    public func file(_ name: String) -> String { url.appending(path: name).path(percentEncoded: false) }
}
