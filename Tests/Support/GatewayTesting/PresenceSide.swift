import ParlorContracts
import ParlorGatewayPresence
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import ParlorTestSupport
import Testing

/// A gateway's presence, with its deliveries to clients.
package struct PresenceSide: Sendable {
    package let presence: Presence
    package let delivered = Arrivals<String>()

    /// Both time limits are by default longer than any test takes.
    package init(
        _ id: String, _ bus: any MessageBus, on loop: EventLoop, typingTimeout: Duration = .seconds(300),
        serviceTimeout: Duration = .seconds(300)
    ) {
        let delivered = delivered
        presence = Presence(
            gatewayID: id, bus: bus, on: loop, log: .silent, typingTimeout: typingTimeout,
            serviceTimeout: serviceTimeout
        ) { change in
            let name = "\(change.member.userID)@\(change.member.roomID)"
            delivered.add("\(change.kind.rawValue) \(name) \(change.isOn ? "on" : "off")")
        }
    }

    /// Two gateways, `a` and `b`, each on a loop of its own.
    package static func run(
        on bus: any MessageBus, typingTimeout: Duration = .seconds(300), serviceTimeout: Duration = .seconds(300),
        _ test: (_ a: PresenceSide, _ b: PresenceSide) async throws -> Void
    ) async throws {
        let group = try EventLoopGroup(loopCount: 2)
        let (a, b) = (
            PresenceSide("a", bus, on: group.loops[0], typingTimeout: typingTimeout, serviceTimeout: serviceTimeout),
            PresenceSide("b", bus, on: group.loops[1], typingTimeout: typingTimeout, serviceTimeout: serviceTimeout)
        )
        try a.presence.start()
        try b.presence.start()
        do {
            try await test(a, b)
        } catch {
            Issue.record("\(error)")
        }
        for side in [a, b] { await side.presence.stop() }
        await finish(group)
    }

    /// Starts another gateway on a loop of its own.
    package static func runLate(on bus: any MessageBus, _ test: (PresenceSide) async throws -> Void) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let late = PresenceSide("late", bus, on: group.loops[0])
        try late.presence.start()
        do {
            try await test(late)
        } catch {
            Issue.record("\(error)")
        }
        await late.presence.stop()
        await finish(group)
    }

    package func receives(_ expected: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let received = try await delivered.next(expected.count)
        #expect(received == expected, sourceLocation: sourceLocation)
    }
}
