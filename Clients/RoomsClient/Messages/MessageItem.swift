import Foundation

/// One line of a conversation: a message that the server has, or one on its way there.
///
/// Equality covers all that is shown, receipts too.
public struct MessageItem: Hashable, Sendable, Identifiable {
    public enum State: Hashable, Sendable {
        case queued
        case sent
        /// The server has it.
        case stored
        /// Everyone else has read it.
        case read
        case failed(SendFailure)
    }

    public enum Content: Hashable, Sendable {
        case stored(Message)
        case pending(PendingMessage)
    }

    /// Stays the same when a pending message becomes a stored one, so that a list keeps its row: of own messages the `tempId`,
    /// of others' the message's id.
    public let id: String
    public let content: Content
    public let senderID: String
    /// Where a stored one stands; nil of a pending one.
    let sortKey: Int?

    init(_ message: Message, ownID: String) {
        id = message.senderId == ownID ? message.tempId ?? message.id : message.id
        content = .stored(message)
        senderID = message.senderId
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

    public var pending: PendingMessage? {
        guard case .pending(let pending) = content else { return nil }
        return pending
    }

    /// nil until the server has it, and of an older server's, which has none.
    public var seq: Int? { message.flatMap { $0.seq > 0 ? $0.seq : nil } }

    public var text: String {
        switch content {
        case .stored(let message): message.text
        case .pending(let pending): pending.text
        }
    }

    /// The server's time once it has it, and this device's until then.
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
            case .sent: .sent
            case .failed(let failure): .failed(failure)
            }
        }
    }
}
