import Foundation

extension Conversation {
    /// Applies an update of the socket. Call it with every update, in order.
    ///
    /// It ignores events of other rooms. While the room is not entered, it only notes what a later visit needs.
    public func apply(_ update: SocketUpdate) {
        switch update {
        case .connecting: break
        case .event(let event): apply(event)
        case .connected:
            // A refresh that is under way began without a connection, so it starts again.
            if !isFetched { beginRefresh() }
        case .recovered(let isWhole):
            show()
            isAway = false
            if !isWhole { losses += 1 }
            if !isWhole || !isFetched { beginRefresh() } else { noteConnection() }
        case .disconnected:
            isAway = true
            (verifiedCursor, freshPage) = (nil, nil)
            typists.removeAll()
            showTypists()
        }
    }

    /// Notes that all missed events have arrived, so that everything shown is verified on this connection, too.
    private func noteConnection() {
        Task { [visit, losses] in
            let cursor = await backing.server.connectionCursor()
            if visit == self.visit, losses == self.losses, isVerified { verifiedCursor = cursor }
        }
    }

    /// Applies an event of the server. It ignores events of other rooms.
    public func apply(_ event: RoomEvent) {
        guard isEntered else {
            // The server has not handled the leave yet, and does not send this event again.
            if event.messageRoomID == roomID { hasMissed = true }
            return
        }
        switch event {
        case .messageNew(let message) where message.roomId == roomID:
            changeSoon { $0.insert(message) }
            typists.end(message.senderId)
            showTypists()
        case .messageDeleted(roomID, let messageID, _):
            changeSoon { $0.delete(messageID) }
        case .messagesRead(roomID, let userID, let messageIDs, let readAt):
            changeSoon { $0.markRead(messageIDs, by: userID, at: readAt) }
        case .typing(roomID, let userID, let isTyping):
            typists.note(userID, isTyping: isTyping)
            showTypists()
        default: break  // of another room, or not shown here
        }
    }

    private func showTypists() {
        if typistIDs != typists.userIDs { typistIDs = typists.userIDs }
    }
}
