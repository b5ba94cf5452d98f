import Foundation

/// Sends the room a typing signal: at once, then at most once a second. Sends its end after two idle seconds,
/// when the message is sent, on leaving, and in the background.
@MainActor
public final class TypingSignal {
    /// Below three seconds, after which the server ends the typing.
    static let renewal: TimeInterval = 1
    static let idle: Duration = .seconds(2)

    private let roomID: String
    private let server: any MessageServer
    private let clock: any ClientClock
    private var isTyping = false
    private var sentAt: Date?
    private var typedAt = Date.distantPast
    private var idleWait: Task<Void, Never>?
    /// The next state to send. A newer one replaces it, so a slow connection sends no stale states.
    private var next: Bool?
    private var deliveryTask: Task<Void, Never>?

    public init(roomID: String, server: any MessageServer, clock: any ClientClock) {
        self.roomID = roomID
        self.server = server
        self.clock = clock
    }

    /// Notes that the person changed the text.
    public func typed() {
        let now = clock.now
        typedAt = now
        guard sentAt.map({ abs(now.timeIntervalSince($0)) >= Self.renewal }) ?? true else {
            // A `true` was sent in the last second, even if a stop followed; a later key sends the next.
            // `abs` is for a clock that was set back: its last time may be hours ahead.
            return
        }
        sentAt = now
        isTyping = true
        send(true)
        if idleWait == nil { idleWait = Task { [weak self] in await self?.stopWhenIdle() } }
    }

    /// Ends the typing, for example when the message is sent.
    public func stopped() {
        idleWait?.cancel()
        idleWait = nil
        guard isTyping else { return }
        isTyping = false
        send(false)
    }

    /// Returns when the last state has been sent.
    func settle() async { await deliveryTask?.value }

    private func stopWhenIdle() async {
        var left = Self.idle
        while left > .zero {
            // `stopped()` cancels it, and has sent the end.
            do { try await clock.sleep(for: left) } catch { return }
            left = Self.idle - .seconds(abs(clock.now.timeIntervalSince(typedAt)))
        }
        guard !Task.isCancelled else { return }
        stopped()
    }

    /// Sends one state at a time, so that they arrive in order.
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
