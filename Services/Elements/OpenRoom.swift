import Contracts
import JSON

/// A person who has a room open on some socket of a gateway.
struct OpenRoom: Sendable, Equatable {
    let roomID: String
    let userID: String

    init(roomID: String, userID: String) {
        self.roomID = roomID
        self.userID = userID
    }

    init(_ json: JSONValue) throws(ServiceError) {
        guard let object = json.object, let roomID = object["roomId"]?.string, let userID = object["userId"]?.string
        else { throw .wrongType("rooms", "a list of objects with roomId and userId") }
        self.init(roomID: roomID, userID: userID)
    }
}
