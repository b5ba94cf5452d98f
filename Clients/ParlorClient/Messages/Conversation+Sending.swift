import Foundation

extension Conversation {
    /// Shows a message at once, and sends it now or when the server can be reached. White space around it is removed.
    ///
    /// - Returns: the item's id. It is nil, and nothing is sent, if nothing is left of the text, if it is too long
    ///   (``MessageText/canBeSent(_:)``), or if the room is gone, as ``failure`` then says. Such a text has to stay in
    ///   its field.
    @discardableResult
    public func send(_ text: String) -> MessageItem.ID? {
        guard MessageText.canBeSent(text), !isEnded else { return nil }
        typing.stopped()
        let message = PendingMessage(
            tempID: backing.makeID(), text: MessageText.sent(text), createdAt: backing.clock.now)
        unkept.append(message)
        change { $0.addPending(message) }
        keepUnkept()
        return message.tempID
    }

    /// Sends a failed message again, under the same `tempID`.
    public func retry(_ id: MessageItem.ID) async {
        _ = await backing.outbox.retry(id, in: roomID)  // without effect if the outbox no longer has the message
    }

    /// Discards a message that is not sent yet.
    ///
    /// - Returns: false if the message is being sent or already stored; once it is stored, ``delete(_:)`` removes it.
    ///   Also false if the device cannot delete the message. The message has then failed with `not_discarded`.
    @discardableResult
    public func discard(_ id: MessageItem.ID) async -> Bool { await backing.outbox.discard(id, in: roomID) }

    /// Discards a message that is not sent yet, so that its text can be edited.
    ///
    /// - Returns: its text; nil if it cannot be discarded, as ``discard(_:)`` says, or was discarded before.
    public func takeBack(_ id: MessageItem.ID) async -> String? {
        guard let text = items.last(where: { $0.id == id })?.pending?.text, await discard(id) else { return nil }
        return text
    }

    /// Deletes one of the person's own messages for everyone. It disappears when the server has confirmed the deletion.
    /// Does nothing if the server has not stored the message.
    ///
    /// - Throws: `ClientFailure` or `CancellationError`. It is no error if the message is already deleted.
    public func delete(_ id: MessageItem.ID) async throws {
        guard let messageID = items.last(where: { $0.id == id })?.message?.id else { return }
        do {
            try await backing.server.deleteMessage(messageID, in: roomID)
        } catch ClientFailure.refused(let refusal) where refusal.code == "message_not_found" {
            // Another device deleted it first, or an earlier reply was lost.
        }
        change { $0.delete(messageID) }
    }

    /// Applies a change of the outbox.
    func take(_ change: OutboxChange) {
        switch change {
        case .all(let messages):
            let kept = Set(messages.map(\.tempID))
            let shown = messages + unkept.filter { !kept.contains($0.tempID) }
            self.change { $0.setPending(shown) }
        case .added(let message):
            self.change { store in
                store.addPending(message)
                store.setState(message.state, of: message.tempID)
            }
        case .state(let tempID, let state):
            sentAfter[tempID] = state == .sent ? losses : nil
            self.change { $0.setState(state, of: tempID) }
        case .stored(let tempID, let message):
            let isOfNow = sentAfter.removeValue(forKey: tempID) == losses
            self.change { $0.confirm(tempID, as: message) }
            // Events may have been lost since the message was sent, even its deletion. So a refresh checks.
            if !isOfNow { beginRefresh() }
        case .removed(let tempID):
            sentAfter[tempID] = nil
            self.change { $0.removePending(tempID) }
        }
    }

    /// Removes messages from the outbox, because an event or a page shows that the server has stored them.
    func noteStored(_ tempIDs: [String]) {
        guard !tempIDs.isEmpty else { return }
        Task { for tempID in tempIDs { await backing.outbox.noteStored(tempID, in: roomID) } }
    }

    /// Hands typed messages to the outbox one after the other, in the order typed. Continues after the room is left.
    private func keepUnkept() {
        guard keeping == nil else { return }
        keeping = Task {
            while let message = unkept.first {
                do throws(SendFailure) {
                    try await backing.outbox.append(message, in: roomID)
                } catch {
                    change { $0.setState(.failed(error), of: message.tempID) }
                }
                unkept.removeFirst()
            }
            keeping = nil
        }
    }
}
