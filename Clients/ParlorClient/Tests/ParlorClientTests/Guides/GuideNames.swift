import Foundation
import ParlorClient

// The guides' names on this library, for an app that already uses them. Copy this file into the app, and remove what it
// no longer needs. The other names have no function here, because the library does their work:
//
// | in the guides | with the library |
// | --- | --- |
// | `RoomCountManager.shared` | `client.rooms.counts`: the counts are those of the signed-in person |
// | `setInitialCounts` | nothing: `client.rooms` loads the counts and follows every change |
// | `markElementsAsSeen` | `client.open(room)`: an open room has no unseen elements |
// | `MessageCache.getCachedMessages` | `client.open(room).conversation.items`: first the cached messages, then the server's |
// | `cacheMessage`, `updateMessage` | nothing: the library caches the messages of opened rooms |
// | `content` of a row | `item.text` |
// | `.id(messagesVersion)` | nothing: it would lose the scroll position, and `MessageItem.id` never changes |

extension RoomCountManager {
    func getElementCount(for roomId: String) -> Int { self[roomId].elements }
    func getUnseenCount(for roomId: String) -> Int { self[roomId].unseenElements }
}

// Rooms of `client.rooms` have the counts that `client.rooms.counts` shows.
extension Room {
    var displayElementCount: Int { elementCount }
    var unseenElementCount: Int { badges.elements }
    var hasUnseenElements: Bool { badges.elements > 0 }
    var relativeTime: String { lastActivityDate.relativeTime }
}

extension PersonWithRooms {
    var firstName: String? { person.firstName }
    var username: String { person.username }
}

extension MessageItem {
    var senderId: String { senderID }
    /// True until the server has stored the message, also if it has failed.
    var isTemporary: Bool { message == nil }
    var relativeTime: String { createdAt.relativeTime }
}

extension Message {
    var senderId: String { senderID }
    var content: String { text }
    var relativeTime: String { createdAt.relativeTime }
}

extension Date {
    /// In English; `RelativeTime` has the parts for other languages.
    var relativeTime: String {
        RelativeTime(of: self, now: .now, calendar: .current).text { $0.formatted(date: .abbreviated, time: .omitted) }
    }
}

extension Notification.Name {
    static let roomElementCountChanged = Notification.Name("roomElementCountChanged")
}

extension RoomsClient {
    /// Posts `roomElementCountChanged` for each room, and again when its number of elements or of unseen ones has
    /// changed, until the task is cancelled. Several changes within 100 ms are one. SwiftUI needs none of this.
    func postElementCounts(to center: NotificationCenter = .default) async {
        var posted: [String: RoomCount] = [:]
        for await counts in ObservedValues({ self.rooms.counts.rooms }) {
            for (roomID, count) in counts {
                let last = posted.updateValue(count, forKey: roomID)
                guard last?.elements != count.elements || last?.unseenElements != count.unseenElements else { continue }
                center.post(
                    name: .roomElementCountChanged, object: self,
                    userInfo: [
                        "roomId": roomID, "elementCount": count.elements, "unseenElementCount": count.unseenElements,
                    ])
            }
        }
    }
}
