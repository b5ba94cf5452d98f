/// The text that a badge shows for a count.
public enum BadgeText {
    /// The highest count that a badge shows as a number.
    public static let limit = 99

    /// Returns the text for a count: nil if there is nothing to show, and `99+` over 99.
    public static func text(_ count: Int) -> String? {
        guard count > 0 else { return nil }
        return count > limit ? "\(limit)+" : String(count)
    }
}
