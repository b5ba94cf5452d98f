import CParlorLinux
import Glibc

/// An object whose descriptor a loop watches: a connection, a listening socket, a connect in progress.
protocol PollSource: AnyObject {
    /// Called on the loop with the events that epoll reports. Level-triggered: unhandled events are reported
    /// again.
    func ready(_ events: PollEvents)
    /// Called when the loop ends. The source must release its descriptor.
    func loopWillStop()
}

struct PollEvents: OptionSet {
    let rawValue: UInt32

    static let input = PollEvents(rawValue: EPOLLIN.rawValue)
    static let output = PollEvents(rawValue: EPOLLOUT.rawValue)
    static let error = PollEvents(rawValue: EPOLLERR.rawValue)
    /// The event when both directions are shut.
    static let hangUp = PollEvents(rawValue: EPOLLHUP.rawValue)
}

/// A loop's epoll, which maps descriptors to their sources. Used on the loop's thread, except for `wake`.
///
/// epoll carries a number, not a pointer: a slot, and its generation when the descriptor was added. An event
/// for a descriptor that was closed earlier in the same turn, or whose number was reused, has another
/// generation and is dropped.
final class Poller {
    struct Token: Hashable {
        fileprivate let slot: UInt32
        fileprivate let generation: UInt32

        fileprivate var packed: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
    }

    private struct Slot {
        var source: (any PollSource)?
        var generation: UInt32
    }

    /// The limit of events in a turn. The kernel reports the others in the next turn, before these again. So a peer with
    /// hundreds of connections does not delay the tasks, timers and writes of others.
    private static let maxEvents = 64
    private static let wakeToken = UInt64.max

    private let epoll: Int32
    private let wakeup: Int32
    private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: Poller.maxEvents)
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var parked: [ObjectIdentifier: any PollSource] = [:]

    init() throws(SystemError) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else {
            events.deallocate()
            throw .last("epoll_create1")
        }
        wakeup = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard wakeup >= 0 else {
            let failure = SystemError.last("eventfd")
            events.deallocate()
            Glibc.close(epoll)
            throw failure
        }
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data(u64: Self.wakeToken))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup, &event) == 0 else {
            let failure = SystemError.last("epoll_ctl")
            events.deallocate()
            Glibc.close(wakeup)
            Glibc.close(epoll)
            throw failure
        }
    }

    deinit {
        events.deallocate()
        Glibc.close(wakeup)
        Glibc.close(epoll)
    }

    func add(_ socket: Socket, for interest: PollEvents, source: any PollSource) throws(SystemError) -> Token {
        let slot: UInt32
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = UInt32(slots.count)
            slots.append(Slot(source: nil, generation: 0))
        }
        let token = Token(slot: slot, generation: slots[Int(slot)].generation)
        var event = epoll_event(events: interest.rawValue, data: epoll_data(u64: token.packed))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, socket.descriptor, &event) == 0 else {
            let failure = SystemError.last("epoll_ctl")
            freeSlots.append(slot)
            throw failure
        }
        slots[Int(slot)].source = source
        return token
    }

    func modify(_ socket: Socket, _ token: Token, to interest: PollEvents) {
        var event = epoll_event(events: interest.rawValue, data: epoll_data(u64: token.packed))
        // Fails only for a descriptor that is not registered, which would be our own bug.
        let result = epoll_ctl(epoll, EPOLL_CTL_MOD, socket.descriptor, &event)
        assert(result == 0, "epoll_ctl: \(errno)")
    }

    /// Stops watching a socket. A token is removed once, while its descriptor is open.
    func remove(_ socket: Socket, _ token: Token) {
        let slot = Int(token.slot)
        precondition(slots[slot].generation == token.generation, "a poll token was used after its removal")
        epoll_ctl(epoll, EPOLL_CTL_DEL, socket.descriptor, nil)
        slots[slot].source = nil
        slots[slot].generation &+= 1
        freeSlots.append(token.slot)
    }

    /// Waits for events and passes each to its source.
    ///
    /// - Parameter milliseconds: the limit of the wait; -1 waits without limit.
    /// - Returns: true if there was any event.
    func poll(milliseconds: Int32, beforeEvents: () -> Void) -> Bool {
        let count = epoll_wait(epoll, events, Int32(Self.maxEvents), milliseconds)
        beforeEvents()
        // Below zero is EINTR: nothing happened.
        for index in 0..<max(Int(count), 0) {
            let event = events[index]
            let packed = event.data.u64
            guard packed != Self.wakeToken else {
                var signals: UInt64 = 0
                _ = Glibc.read(wakeup, &signals, MemoryLayout<UInt64>.size)
                continue
            }
            let slot = slots[Int(UInt32(truncatingIfNeeded: packed))]
            guard slot.generation == UInt32(packed >> 32), let source = slot.source else { continue }
            source.ready(PollEvents(rawValue: event.events))
        }
        return count > 0
    }

    /// Ends the current wait, or the next one. From any thread.
    func wake() {
        var one: UInt64 = 1
        // Fails only when the counter is full, and then the loop is awake anyway.
        _ = Glibc.write(wakeup, &one, MemoryLayout<UInt64>.size)
    }

    /// Keeps a source that epoll does not watch for now, so that it is notified of the loop's end.
    func park(_ source: any PollSource) { parked[ObjectIdentifier(source)] = source }
    func unpark(_ source: any PollSource) { parked[ObjectIdentifier(source)] = nil }

    /// The sources that must be notified of the loop's end.
    var sources: [any PollSource] { slots.compactMap(\.source) + parked.values }
}

/// The events that epoll watches for one source: none before the first update, and none while it is
/// parked.
struct PollWatch {
    private var token: Poller.Token?
    private var interest: PollEvents = []

    var isWatching: Bool { token != nil }

    /// Updates epoll to the wanted events.
    @inline(__always)
    mutating func update(
        to wanted: PollEvents, _ socket: Socket, for source: some PollSource, in poller: Poller
    ) throws(SystemError) {
        if let token {
            guard wanted != interest else { return }
            poller.modify(socket, token, to: wanted)
        } else {
            token = try poller.add(socket, for: wanted, source: source)
            poller.unpark(source)
        }
        interest = wanted
    }

    /// Watches nothing until the next update; the source is still notified of the loop's end.
    mutating func park(_ socket: Socket, for source: some PollSource, in poller: Poller) {
        guard let token else { return }
        poller.remove(socket, token)
        poller.park(source)
        self.token = nil
    }

    mutating func end(_ socket: Socket, for source: some PollSource, in poller: Poller) {
        if let token { poller.remove(socket, token) } else { poller.unpark(source) }
        token = nil
    }
}
