import ParlorClient

extension RoomsClient {
    /// Sends a message that was written in a notification. It is kept like any other until the server has it.
    ///
    /// - Throws: `SendFailure` if the text is too long; `ClientFailure` or `CancellationError` if the room cannot be
    ///   opened. Nothing is sent then.
    func reply(_ text: String, in roomID: Room.ID) async throws {
        guard MessageText.canBeSent(text) else {
            throw SendFailure(code: "payload_too_large", message: "The message is too long.")
        }
        let opened = try await open(roomID: roomID)
        let isSent = opened.conversation.send(text) != nil
        opened.close()
        if !isSent, let failure = opened.conversation.failure { throw failure }
    }
}
