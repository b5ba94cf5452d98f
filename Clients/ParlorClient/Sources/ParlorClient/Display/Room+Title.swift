extension Room {
    /// Returns the title that a list shows: the room's name, its participants, or `unnamed` if there are neither.
    ///
    /// - Parameter unnamed: a text in the app's language.
    public func title(unnamed: String = "Unnamed room") -> String {
        for text in [name ?? "", displayName] where text.contains(where: { !$0.isWhitespace }) { return text }
        return unnamed
    }
}
