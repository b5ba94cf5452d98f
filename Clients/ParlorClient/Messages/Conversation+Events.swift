import Foundation

extension Conversation {
    /// Applies an update of the socket. Call it with every update, in order.
    ///
    /// It ignores events of other rooms, and all events while the room is not entered.
    package func apply(_ update: SocketUpdate) {
        switch update {
        case .connecting: break
        case .event(let event): apply(event)
        case .connected:
            // A refresh that is in progress began without a connection, so it starts again.
            if !isFetched { beginRefresh() }
        case .recovered(let isWhole):
            show()
            isBehind = false
            if !isWhole { losses += 1 }
            if !isWhole || !isFetched {
                beginRefresh()
            } else if isJoined {
                // All missed events have arrived.
                verifiedStep = backing.fresh.step
                writeCacheSoon()
            }
        case .refusedRoom(roomID, _):
            // The refresh joins the room once more, and shows why that fails.
            isJoined = false
            beginRefresh()
        case .refusedRoom, .joined: break
        case .disconnected:
            isBehind = true
            freshPage = nil
            typists.removeAll()
            showTypists()
        }
    }

    /// Applies an event of the server. It ignores events of other rooms.
    package func apply(_ event: RoomEvent) {
        guard isEntered else { return }
        if event.messageRoomID == roomID {
            eventCount += 1
            changeSoon { $0.apply(event) }
        }
        switch event {
        case .messageNew(let message) where message.roomID == roomID:
            typists.end(message.senderID)
            showTypists()
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
