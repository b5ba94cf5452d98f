import Foundation

extension URL {
    /// Foundation has it on Apple's systems alone.
    public nonisolated static var applicationSupportDirectory: URL { URL(filePath: "/") }
}
