/// The text of a badge for a count.
public enum BadgeText {
    /// The highest count that a badge shows.
    public static let limit = 99

    /// Returns the text for a count: nil for zero, `99+` over 99.
    public static func text(_ count: Int) -> String? {
        guard count > 0 else { return nil }
        return count > limit ? "\(limit)+" : String(count)
    }
}
