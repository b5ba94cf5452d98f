import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorGatewayPresence

@Suite("Notifying services of open rooms")
struct ServiceNotifierTests {
    private let bus = InProcessBus()
    private let requests = Arrivals<String>()
    private let notified = Arrivals<String>()
    private let ada = RoomMember(roomID: "r", userID: "ada")
    private let manifest = Manifest(service: "counting", presenceSubject: "counting.presence")

    /// Runs a test with a notifier, and a service that answers at once, unless it `isDown`.
    private func run(
        isDown: Bool = false, timeout: Duration = .seconds(60), _ test: (ServiceNotifier) async throws -> Void
    ) async throws {
        let notified = notified
        if !isDown { try startService() }
        let group = try EventLoopGroup(loopCount: 1)
        let notifier = ServiceNotifier(
            gatewayID: "g", bus: bus, on: group.loops[0], log: .silent, timeout: timeout
        ) { member, isOpen in
            notified.add("\(member.userID)@\(member.roomID) \(isOpen)")
        }
        await notifier.learn(manifest)
        try await test(notifier)
        await finish(group)
    }

    private func startService() throws {
        try bus.respond(to: "counting.presence", queue: "counting") { [requests] request in
            requests.add("\(request.data)")
            request.reply(Reply().json)
        }
    }

    private func request(isOpen: Bool) -> String {
        #"{"gateway":"g","isOpen":\#(isOpen),"rooms":[{"roomId":"r","userId":"ada"}]}"#
    }

    @Test("each change is one request, and state that services have causes none")
    func changes() async throws {
        try await run { notifier in
            await notifier.setOpen(true, ada)?.value
            #expect(await notifier.setOpen(true, ada) == nil)
            await notifier.setOpen(false, ada)?.value
            let sent = try await requests.next(2)
            #expect(sent == [request(isOpen: true), request(isOpen: false)])
            #expect(try await notified.next(2) == ["ada@r true", "ada@r false"])
        }
    }

    @Test("services that considered the gateway dead are notified again of what is open")
    func heldUp() async throws {
        try await run { notifier in
            await notifier.setOpen(true, ada)?.value
            await notifier.forgetNotified()
            await notifier.retry()
            let sent = try await requests.next(2)
            #expect(sent == [request(isOpen: true), request(isOpen: true)])
        }
    }

    @Test("a service that was down while a room was opened and left is notified of both, in this order")
    func missedOpening() async throws {
        try await run(isDown: true) { notifier in
            await notifier.setOpen(true, ada)?.value
            await notifier.setOpen(false, ada)?.value
            try startService()
            await notifier.learn(manifest)
            let sent = try await requests.next(2)
            #expect(sent == [request(isOpen: true), request(isOpen: false)])
            await notifier.retry()
            await notifier.setOpen(true, ada)?.value
            #expect(try await requests.next(1) == [request(isOpen: true)], "nothing else was pending")
        }
    }

    @Test("a missed opening is sent before the closing that follows it, and not after it")
    func openingBeforeClosing() async throws {
        try await run(isDown: true) { notifier in
            await notifier.setOpen(true, ada)?.value
            try startService()
            await notifier.setOpen(false, ada)?.value
            #expect(try await requests.next(2) == [request(isOpen: true), request(isOpen: false)])
            await notifier.retry()
            #expect(try await requests.next(1) == [request(isOpen: false)], "a state that stays pending")
            await notifier.setOpen(true, ada)?.value
            #expect(try await requests.next(1) == [request(isOpen: true)], "nothing else was pending")
        }
    }

    @Test("a service that is permanently gone is no longer notified")
    func forgotten() async throws {
        try await run { notifier in
            await notifier.forget(service: "counting")
            await notifier.setOpen(true, ada)?.value
            await notifier.learn(manifest)
            let sent = try await requests.next()
            #expect(sent == request(isOpen: true))
            #expect(try await notified.next() == "ada@r true")
        }
    }

    @Test("nobody waits for a service that is late again and again, and it is notified of all later")
    func late() async throws {
        try await run(isDown: true, timeout: .seconds(1)) { notifier in
            let held = Mutex(0)
            let changes = 10
            let silent = try bus.respond(to: "counting.presence", queue: "counting") { _ in held.withLock { $0 += 1 } }
            for number in 1...changes { await notifier.setOpen(number % 2 == 1, ada)?.value }
            #expect(held.withLock(\.self) < changes, "each of these took a second")
            silent.cancel()
            try startService()
            let retrying = Task {
                while !Task.isCancelled {
                    await notifier.retry()
                    await Task.yield()
                }
            }
            #expect(try await requests.next(2) == [request(isOpen: true), request(isOpen: false)])
            retrying.cancel()
            await retrying.value
            await notifier.setOpen(true, ada)?.value
            #expect(try await requests.next(1) == [request(isOpen: true)], "a reply in time ends the pause")
        }
    }

    @Test("services are notified at the same time: one that does not answer delays no other's request")
    func atOnce() async throws {
        try await run { notifier in
            let held = Arrivals<BusRequest>()
            for name in ["one", "two"] {
                try bus.respond(to: "\(name).presence", queue: name) { held.add($0) }
                await notifier.learn(Manifest(service: name, presenceSubject: "\(name).presence"))
            }
            let notification = await notifier.setOpen(true, ada)
            let both = try await held.next(2)
            #expect(Set(both.map(\.subject)) == ["one.presence", "two.presence"])
            for request in both { request.reply(Reply().json) }
            await notification?.value
        }
    }
}
