extension RoomsClient {
    /// Opens the chat with a person for one screen. It has the messages of all rooms that only the two people share.
    ///
    /// - Returns: a new model for each call. Its rooms close when it is closed or released.
    package func openConversation(with person: Person) -> PersonConversation {
        PersonConversation(
            with: person, in: rooms, pageSize: conversationSettings.pageSize, clock: clock, openRoom: { self.open($0) })
    }
}
