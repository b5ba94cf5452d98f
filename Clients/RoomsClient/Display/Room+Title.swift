extension Room {
    /// What a list shows as the room's name: that, or who is in it, or else, from servers that don't say so, `unnamed`.
    ///
    /// - Parameter unnamed: in the app's language.
    public func title(unnamed: String = "Unnamed room") -> String {
        for text in [name ?? "", displayName] where text.contains(where: { !$0.isWhitespace }) { return text }
        return unnamed
    }
}
