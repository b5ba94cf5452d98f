import Foundation

/// The person's own messages of a conversation, from the text that was typed until the server has them.
@MainActor
final class MessageSending {
    /// The typed messages that are not in the outbox yet.
    private(set) var unkept: [PendingMessage] = []
    /// The task that hands them to the outbox.
    private var keeping: Task<Void, Never>?
    /// Counts the times when events may have been lost: each reconnect without a full replay, and each leave.
    private var losses = 0
    /// The value of `losses` when each message in flight was sent, by its `tempID`.
    private var sentAfter: [String: Int] = [:]
    /// Called if events may have been lost since a message was sent, even its deletion.
    var onDoubt: @MainActor () -> Void = {}
    private let roomID: String
    private let timeline: Timeline
    private let backing: MessageBacking

    init(roomID: String, timeline: Timeline, backing: MessageBacking) {
        self.roomID = roomID
        self.timeline = timeline
        self.backing = backing
    }

    func noteLoss() { losses += 1 }

    func send(_ text: String) -> MessageItem.ID {
        let message = PendingMessage(tempID: backing.makeID(), text: text, createdAt: backing.clock.now)
        unkept.append(message)
        timeline.change { $0.addPending(message) }
        keepUnkept()
        return message.tempID
    }

    /// Returns when all typed messages are in the outbox, or have failed.
    func keepAll() async { await keeping?.value }

    /// Applies a change of the outbox.
    func take(_ change: OutboxChange) {
        switch change {
        case .all(let messages):
            let kept = Set(messages.map(\.tempID))
            let shown = messages + unkept.filter { !kept.contains($0.tempID) }
            timeline.change { $0.setPending(shown) }
        case .added(let message):
            timeline.change { store in
                store.addPending(message)
                store.setState(message.state, of: message.tempID)
            }
        case .state(let tempID, let state):
            sentAfter[tempID] = state == .sending ? losses : nil
            timeline.change { $0.setState(state, of: tempID) }
        case .stored(let tempID, let message):
            let isOfNow = sentAfter.removeValue(forKey: tempID) == losses
            timeline.change { $0.confirm(tempID, as: message) }
            if !isOfNow { onDoubt() }
        case .removed(let tempID):
            sentAfter[tempID] = nil
            timeline.change { $0.removePending(tempID) }
        }
    }

    /// Removes messages from the outbox, because an event or a page shows that the server has stored them.
    func noteStored(_ tempIDs: [String]) {
        guard !tempIDs.isEmpty else { return }
        Task { for tempID in tempIDs { await backing.outbox.noteStored(tempID, in: roomID) } }
    }

    /// Hands typed messages to the outbox one after the other, in the order typed. Continues after the room is left.
    private func keepUnkept() {
        guard keeping == nil else { return }
        keeping = Task {
            while let message = unkept.first {
                do throws(SendFailure) {
                    try await backing.outbox.append(message, in: roomID)
                } catch {
                    timeline.change { $0.setState(.failed(error), of: message.tempID) }
                }
                unkept.removeFirst()
            }
            keeping = nil
        }
    }
}
