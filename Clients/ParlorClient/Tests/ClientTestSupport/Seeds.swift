import Foundation

/// The seeds of the client library's random tests.
public enum Seeds {
    /// Returns the first `count` seeds, or those of `CLIENT_SEEDS`: `1000` means the first 1,000 seeds, and `351-360`
    /// means the seeds 351 to 360.
    ///
    /// - Parameter count: few enough for a run of all tests. CONTRIBUTING.md has the command for 1,000.
    public static func first(_ count: Int) -> Range<Int> {
        guard let text = ProcessInfo.processInfo.environment["CLIENT_SEEDS"] else { return 0..<count }
        let bounds = text.split(separator: "-").compactMap { Int($0) }
        precondition(bounds.count == text.split(separator: "-").count && (1...2).contains(bounds.count), "CLIENT_SEEDS")
        return bounds.count == 1 ? 0..<bounds[0] : bounds[0]..<bounds[1] + 1
    }
}
