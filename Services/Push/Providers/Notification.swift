import Contracts
import JSON

/// A notification for a device, in the terms of Apple's push service; other providers carry the
/// same.
struct Notification: Sendable {
    /// A UUID; the same for every attempt.
    let id: String
    let device: Device
    let kind: Kind
    /// One that is shown takes the place of another with the same.
    let collapseID: String
    let payload: JSONValue
    /// After which it is not worth being shown.
    let expiresAt: Timestamp

    enum Kind: String, Sendable {
        /// Wakes and shows.
        case alert
        /// Sets the number on the app's icon, and says nothing.
        case badge
    }

    /// Apple's limit (`PayloadTooLarge` beyond).
    static let maxPayload = 4096

    /// A message.
    ///
    /// - Parameter text: nil if texts are to be kept out of payloads.
    init(_ job: Job, to device: Device, roomName: String?, text: String?, badge: Int) {
        id = job.id
        self.device = device
        kind = .alert
        collapseID = job.messageID
        payload = Self.payload(job, title: Self.title(job.senderName, roomName), text: text, badge: badge)
        expiresAt = job.sentAt.adding(JobPlan.lifetime)
    }

    /// A silent update. By Apple's rules it is no background notification, which may not have a badge; its low priority lets the
    /// device choose the moment.
    init(badge: Int, _ job: Job, to device: Device) {
        id = job.id
        self.device = device
        kind = .badge
        collapseID = "badge"
        payload = JSONWriter.object { $0.member("aps", object: { $0.member("badge", badge) }) }
        expiresAt = job.sentAt.adding(JobPlan.lifetime)
    }

    private static func title(_ sender: String, _ roomName: String?) -> String {
        roomName.map { "\(sender) · \($0)" } ?? sender
    }

    private static func payload(_ job: Job, title: String, text: String?, badge: Int) -> JSONValue {
        func written(_ body: String) -> JSONValue {
            JSONWriter.object(reservingCapacity: maxPayload) {
                $0.member(
                    "aps",
                    object: {
                        $0.member(
                            "alert",
                            object: {
                                $0.member("title", title)
                                $0.member("body", body)
                            })
                        $0.member("badge", badge)
                        $0.member("sound", "default")
                        $0.member("thread-id", job.roomID)
                    })
                $0.member("type", "message")
                $0.member("roomId", job.roomID)
                $0.member("messageId", job.messageID)
            }
        }
        guard let text else { return written(Self.withoutText) }
        let whole = written(text)
        if whole.bytes.count <= maxPayload { return whole }
        let room = maxPayload - written("").bytes.count
        return written(text.cut(toJSON: room))
    }

    private static let withoutText = "New message"
}

extension String {
    /// As many whole characters from its start as a person sees them, with an ellipsis, as are no longer than that in JSON.
    fileprivate func cut(toJSON limit: Int) -> String {
        let ellipsis = "…"
        var end = startIndex
        // Without the quotes.
        var bytes = ellipsis.utf8.count
        for index in indices {
            bytes += JSONValue(String(self[index])).bytes.count - 2
            guard bytes <= limit else { break }
            end = self.index(after: index)
        }
        return self[..<end] + ellipsis
    }
}
