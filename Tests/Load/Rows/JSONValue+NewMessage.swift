import Foundation
import ParlorJSON

extension JSONValue {
    /// Returns a message for `message:send`, with a `tempId` as clients make it: 36 characters, different each time.
    static func newMessage(in room: String) -> JSONValue {
        JSONWriter.object {
            $0.member("roomId", room)
            $0.member("text", "A message as people write them, a line or two, and not the shortest there are.")
            $0.member("tempId", UUID().uuidString)
        }
    }
}
