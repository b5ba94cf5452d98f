/// A count as a badge shows it.
public enum BadgeText {
    /// What has room in a badge.
    public static let limit = 99

    /// - Returns: nil if there is nothing to show; `99+` over 99.
    public static func text(_ count: Int) -> String? {
        guard count > 0 else { return nil }
        return count > limit ? "\(limit)+" : String(count)
    }
}
