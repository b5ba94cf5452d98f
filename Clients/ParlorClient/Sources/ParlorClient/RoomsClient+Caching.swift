// `FreshRooms` knows which cached messages are current. This extension tells it about connections and events.
extension RoomsClient {
    /// - Parameter cursor: with `recovered`, the cursor of the connection.
    /// - Returns: the end of a replay, to be stored.
    func noteForCache(_ update: SocketUpdate, cursor: String?) -> FreshRooms.Advance? {
        let fresh = backing.fresh
        switch update {
        case .connecting, .refusedRoom, .joined: break
        case .connected: fresh.noteConnected()
        case .disconnected: fresh.noteDisconnected()
        case .recovered(let isWhole): return fresh.advance(to: cursor, isWhole: isWhole)
        case .event(let event):
            guard let roomID = event.messageRoomID else { break }
            fresh.note(event, in: roomID, isReplayed: isBehind, isOpen: open[roomID]?.isEntered == true)
        }
        return nil
    }

    /// Returns an empty store for each room whose cached messages have to change.
    func emptyStores(for advance: FreshRooms.Advance) -> [String: MessageStore] {
        var stores: [String: MessageStore] = [:]
        for roomID in advance.events.keys {
            guard let room = rooms[roomID] else { continue }
            stores[roomID] = MessageStore(
                roomID: roomID, ownID: user.id, participantIDs: Set(room.participants.map(\.userID)))
        }
        return stores
    }
}
