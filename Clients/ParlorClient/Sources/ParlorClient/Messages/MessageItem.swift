import Foundation

/// A line of a conversation: a stored or a pending message.
///
/// Two items are equal if everything that a screen shows of them is equal, including receipts.
public struct MessageItem: Hashable, Sendable, Identifiable {
    /// How far the message has come.
    public enum State: Hashable, Sendable {
        /// It waits for its turn, or for the connection.
        case queued
        /// It is on its way: the server has not answered yet.
        case sending
        /// The server has stored it.
        case stored
        /// Everyone else has read it.
        case read
        case failed(SendFailure)
    }

    package enum Content: Hashable, Sendable {
        case stored(Message)
        case pending(PendingMessage)
    }

    /// The `tempID` if the message is the person's own and has one; otherwise the message's id. It does not change when
    /// a pending message is stored, so a list keeps its row.
    public let id: String
    package let content: Content
    public let senderID: String
    /// The position of a stored message; nil if it is pending.
    let sortKey: Int?

    init(_ message: Message, ownID: String) {
        id = message.senderID == ownID ? message.tempID ?? message.id : message.id
        content = .stored(message)
        senderID = message.senderID
        sortKey = message.sortKey
    }

    init(_ pending: PendingMessage, ownID: String) {
        id = pending.tempID
        content = .pending(pending)
        senderID = ownID
        sortKey = nil
    }

    public var message: Message? {
        guard case .stored(let message) = content else { return nil }
        return message
    }

    package var pending: PendingMessage? {
        guard case .pending(let pending) = content else { return nil }
        return pending
    }

    /// The message's number in its room; nil for a pending message, and on older servers.
    public var seq: Int? { message.flatMap { $0.seq > 0 ? $0.seq : nil } }

    public var text: String {
        switch content {
        case .stored(let message): message.text
        case .pending(let pending): pending.text
        }
    }

    /// The server's time for a stored message, this device's for a pending one.
    public var createdAt: Date {
        switch content {
        case .stored(let message): message.createdAt
        case .pending(let pending): pending.createdAt
        }
    }

    public var state: State {
        switch content {
        case .stored(let message): message.isRead ? .read : .stored
        case .pending(let pending):
            switch pending.state {
            case .queued: .queued
            case .sending: .sending
            case .failed(let failure): .failed(failure)
            }
        }
    }
}
