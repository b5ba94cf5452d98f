import Foundation

extension Conversation {
    /// What the socket tells, in its order. Of every room: what is not this one's is passed over. In a room that is left only the
    /// connection's state is noted.
    public func apply(_ update: SocketUpdate) {
        switch update {
        case .connecting: break
        case .event(let event): apply(event)
        case .connected:
            // Also when it is being fetched: that began without a connection.
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

    /// All that was missed has come: what is shown is known on this connection, too.
    private func noteConnection() {
        Task { [visit, losses] in
            let cursor = await backing.server.connectionCursor()
            if visit == self.visit, losses == self.losses, isVerified { verifiedCursor = cursor }
        }
    }

    /// The one door for what the server tells of this room.
    public func apply(_ event: RoomEvent) {
        guard isEntered else {
            // The server has not left the room yet, and will not send it again.
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
            typists.note(userID, isTyping: isTyping, at: backing.clock.now)
            showTypists()
        default: break  // of another room, or nothing that is shown here
        }
    }

    private func showTypists() {
        if typistIDs != typists.userIDs { typistIDs = typists.userIDs }
        guard pruning == nil, typists.nextEnd != nil else { return }
        pruning = Task { [weak self, clock = backing.clock] in
            while let end = self?.typists.nextEnd {
                let left = Duration.seconds(min(max(0, end.timeIntervalSince(clock.now)), Typists.lifetime))
                // Cancelled on leaving.
                do { try await clock.sleep(for: left) } catch { return }
                self?.pruneTypists()
            }
            self?.pruning = nil
        }
    }

    private func pruneTypists() {
        typists.prune(at: backing.clock.now)
        if typistIDs != typists.userIDs { typistIDs = typists.userIDs }
    }
}
