extension RoomsClient {
    /// Opens the chat with a person over all rooms that the two share alone, for one screen.
    ///
    /// - Returns: a new model for each call. Each screen has to ``PersonConversation/close()`` its own.
    public func openConversation(with person: Person) -> PersonConversation {
        PersonConversation(
            with: person, in: rooms, pageSize: conversationSettings.pageSize, clock: clock, openRoom: { self.open($0) },
            closeRoom: { await self.close($0) })
    }
}
