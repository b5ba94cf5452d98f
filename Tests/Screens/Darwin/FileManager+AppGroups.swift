import Foundation

extension FileManager {
    /// Foundation has it on Apple's systems alone.
    public nonisolated func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}
