import Contracts
import JSON

/// A notification for a device, in the terms of Apple's push service, which other providers use as well.
struct Notification: Sendable {
    /// The id, a UUID that is the same for every attempt.
    let id: String
    let device: Device
    let kind: Kind
    /// The key by which a shown notification replaces an earlier one.
    let collapseID: String
    let payload: JSONValue
    /// The time after which it is not worth showing.
    let expiresAt: Timestamp

    enum Kind: String, Sendable {
        /// A notification that is shown and alerts the person.
        case alert
        /// A silent update of the number on the app's icon.
        case badge
    }

    /// Apple's limit, beyond which it answers `PayloadTooLarge`.
    static let maxPayload = 4096

    /// Creates the notification of a message.
    ///
    /// - Parameter text: the text; nil if texts are to be kept out of payloads.
    init(_ job: Job, to device: Device, roomName: String?, text: String?, badge: Int) {
        id = job.id
        self.device = device
        kind = .alert
        collapseID = job.messageID
        payload = Self.payload(job, title: Self.title(job.senderName, roomName), text: text, badge: badge)
        expiresAt = job.sentAt.adding(JobPlan.lifetime)
    }

    /// Creates a silent update. By Apple's rules a background notification may not have a badge, so this is
    /// none; its low priority lets the device choose the moment.
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
    /// Returns the longest prefix of whole visible characters, with an ellipsis, whose JSON is within the
    /// limit.
    fileprivate func cut(toJSON limit: Int) -> String {
        let ellipsis = "…"
        var end = startIndex
        // Without the quotation marks.
        var bytes = ellipsis.utf8.count
        for index in indices {
            bytes += JSONValue(String(self[index])).bytes.count - 2
            guard bytes <= limit else { break }
            end = self.index(after: index)
        }
        return self[..<end] + ellipsis
    }
}
