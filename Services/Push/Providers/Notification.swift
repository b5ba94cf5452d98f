import ParlorContracts
import ParlorJSON

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
    /// - Parameters:
    ///   - message: nil if messaging no longer has it.
    ///   - roomName: nil if the room has none, or if the rooms service is down.
    init(
        _ job: Job, _ message: UnreadMessage?, to device: Device, roomName: String?, badge: Int,
        in form: AlertForm = AlertForm()
    ) {
        id = job.id
        self.device = device
        kind = .alert
        collapseID = job.messageID
        let names = (
            sender: job.senderName.cut(toJSON: Self.maxName), room: roomName?.onOneLine.cut(toJSON: Self.maxName)
        )
        payload = Self.payload(job, message, names, badge, form)
        expiresAt = job.sentAt.adding(JobPlan.lifetime)
    }

    /// Creates a silent update. Apple allows no badge in a background notification, so this is sent as an
    /// alert without text. Its low priority lets the device choose the moment.
    init(badge: Int, _ job: Job, to device: Device) {
        id = job.id
        self.device = device
        kind = .badge
        collapseID = "badge"
        payload = JSONWriter.object { $0.member("aps", object: { $0.member("badge", badge) }) }
        expiresAt = job.sentAt.adding(JobPlan.lifetime)
    }

    /// The limit of a name in bytes of JSON. The longest name that people and rooms can have, 100 characters,
    /// fits. A payload contains each name twice.
    private static let maxName = 400

    private static func payload(
        _ job: Job, _ message: UnreadMessage?, _ names: (sender: String, room: String?), _ badge: Int, _ form: AlertForm
    ) -> JSONValue {
        func written(_ text: String?) -> JSONValue {
            JSONWriter.object(reservingCapacity: maxPayload) {
                $0.member(
                    "aps",
                    object: {
                        $0.member("alert", object: { form.writeAlert(names, text, to: &$0) })
                        $0.member("badge", badge)
                        $0.member("sound", "default")
                        $0.member("thread-id", job.roomID)
                        if let category = form.category { $0.member("category", category) }
                        // Lets the app's extension change the alert; without one it has no effect.
                        $0.member("mutable-content", 1)
                    })
                $0.member("type", "message")
                $0.member("roomId", job.roomID)
                $0.member("messageId", job.messageID)
                if let seq = message?.seq { $0.member("seq", seq) }
                if let senderID = message?.senderID { $0.member("senderId", senderID) }
                $0.member("senderName", names.sender)
                if let room = names.room { $0.member("roomName", room) }
            }
        }
        guard form.showsText, let text = message?.text else { return written(nil) }
        let whole = written(text)
        if whole.bytes.count <= maxPayload { return whole }
        return written(text.cut(toJSON: maxPayload - written("").bytes.count))
    }
}

/// The settings for the wording and the category of alerts.
struct AlertForm: Sendable {
    var showsText = true
    /// The category; nil for none.
    var category: String? = "message"
    /// True to send keys of the app's `Localizable.strings` instead of the server's words. A message's text is
    /// sent in any case.
    var usesKeys = false

    private static let withoutText = "New message"

    /// - Parameter text: nil to leave it out.
    fileprivate func writeAlert(
        _ names: (sender: String, room: String?), _ text: String?, to json: inout JSONWriter
    ) {
        if usesKeys {
            json.member("title-loc-key", names.room == nil ? "MESSAGE_FROM" : "MESSAGE_FROM_IN_ROOM")
            json.member("title-loc-args", [names.sender, names.room].compactMap { $0 })
        } else {
            json.member("title", names.room.map { "\(names.sender) · \($0)" } ?? names.sender)
        }
        switch text {
        case let text?: json.member("body", text)
        case nil where usesKeys: json.member("loc-key", "NEW_MESSAGE")
        case nil: json.member("body", Self.withoutText)
        }
    }
}

extension String {
    /// Returns the text if its JSON is within the limit, otherwise the longest prefix of whole visible characters
    /// that is within it with an ellipsis.
    fileprivate func cut(toJSON limit: Int) -> String {
        // Without the quotation marks.
        if JSONValue(self).bytes.count - 2 <= limit { return self }
        let ellipsis = "…"
        var end = startIndex
        var bytes = ellipsis.utf8.count
        for index in indices {
            bytes += JSONValue(String(self[index])).bytes.count - 2
            guard bytes <= limit else { break }
            end = self.index(after: index)
        }
        return self[..<end] + ellipsis
    }
}

extension String {
    /// The text with a space for each line break and tab, as a notification's title has one line.
    fileprivate var onOneLine: String { String(map { $0.isNewline || $0 == "\t" ? " " : $0 }) }
}
