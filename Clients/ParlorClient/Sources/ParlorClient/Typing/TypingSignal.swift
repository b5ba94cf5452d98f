import Foundation

/// Sends the person's typing state to a room.
///
/// The signal goes out at the first keystroke, and then at most once a second. The end goes out after two seconds
/// without a keystroke, or at ``stopped()``.
@MainActor
package final class TypingSignal {
    /// The time, in seconds, before the signal is sent again. It must be below three seconds, after which the server
    /// ends the typing.
    static let renewal: TimeInterval = 1
    /// The time without a keystroke after which the typing ends.
    static let idle: Duration = .seconds(2)

    private let roomID: String
    private let server: any MessageServer
    private let clock: any ClientClock
    private var isTyping = false
    private var sentAt: Date?
    private var typedAt = Date.distantPast
    private var idleWait: Task<Void, Never>?
    /// The next state to send. A newer one replaces it, so that a slow connection sends no outdated states.
    private var next: Bool?
    private var deliveryTask: Task<Void, Never>?

    package init(roomID: String, server: any MessageServer, clock: any ClientClock) {
        self.roomID = roomID
        self.server = server
        self.clock = clock
    }

    /// Notes that the person changed the text. An app calls it at each keystroke.
    package func typed() {
        let now = clock.now
        typedAt = now
        guard sentAt.map({ abs(now.timeIntervalSince($0)) >= Self.renewal }) ?? true else {
            // A `true` was sent within the last second, even if a stop followed. A later keystroke sends the next.
            // `abs` is for a clock that was set back: `sentAt` may then be hours ahead.
            return
        }
        sentAt = now
        isTyping = true
        send(true)
        if idleWait == nil { idleWait = Task { [weak self] in await self?.stopWhenIdle() } }
    }

    /// Ends the typing, for example when the message is sent.
    package func stopped() {
        idleWait?.cancel()
        idleWait = nil
        guard isTyping else { return }
        isTyping = false
        send(false)
    }

    /// Waits until the last state has been sent.
    func settle() async { await deliveryTask?.value }

    private func stopWhenIdle() async {
        var left = Self.idle
        while left > .zero {
            // `stopped()` cancels the sleep, and has sent the end.
            do { try await clock.sleep(for: left) } catch { return }
            left = Self.idle - .seconds(abs(clock.now.timeIntervalSince(typedAt)))
        }
        guard !Task.isCancelled else { return }
        stopped()
    }

    /// Sends one state after the other, so that they arrive in order.
    private func send(_ isTyping: Bool) {
        next = isTyping
        guard deliveryTask == nil else { return }
        deliveryTask = Task {
            while let word = next {
                next = nil
                await server.setTyping(word, in: roomID)
            }
            deliveryTask = nil
        }
    }
}
