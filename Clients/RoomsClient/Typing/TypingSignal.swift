import Foundation

/// Tells a room that one types: at once, then at most once a second, and that one has stopped after two idle seconds, on sending,
/// on leaving, and in the background.
@MainActor
public final class TypingSignal {
    /// The server forgets a typist after three.
    static let renewal: TimeInterval = 1
    static let idle: Duration = .seconds(2)

    private let roomID: String
    private let server: any MessageServer
    private let clock: any ClientClock
    private var isTyping = false
    private var sentAt: Date?
    private var typedAt = Date.distantPast
    private var idleWait: Task<Void, Never>?
    /// What is to be told next; a newer word replaces it, so that a slow connection gets no stale ones.
    private var next: Bool?
    private var deliveryTask: Task<Void, Never>?

    public init(roomID: String, server: any MessageServer, clock: any ClientClock) {
        self.roomID = roomID
        self.server = server
        self.clock = clock
    }

    /// The text has changed by the person's hand.
    public func typed() {
        let now = clock.now
        typedAt = now
        guard sentAt.map({ abs(now.timeIntervalSince($0)) >= Self.renewal }) ?? true else {
            // Within a second of the last `true`, also of one before a stop: a later key tells. Before it or after: a clock that was
            // set back may take hours to come to that second again.
            return
        }
        sentAt = now
        isTyping = true
        send(true)
        if idleWait == nil { idleWait = Task { [weak self] in await self?.stopWhenIdle() } }
    }

    /// Sent, cleared, left, or in the background.
    public func stopped() {
        idleWait?.cancel()
        idleWait = nil
        guard isTyping else { return }
        isTyping = false
        send(false)
    }

    /// Returns when the server has what it is to know.
    func settle() async { await deliveryTask?.value }

    private func stopWhenIdle() async {
        var left = Self.idle
        while left > .zero {
            // Cancelled by `stopped()`, which has told already.
            do { try await clock.sleep(for: left) } catch { return }
            left = Self.idle - .seconds(abs(clock.now.timeIntervalSince(typedAt)))
        }
        guard !Task.isCancelled else { return }
        stopped()
    }

    /// One at a time, so that they arrive in order.
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
