import GatewayTesting
import ParlorContracts
import ParlorGatewayCatalog
import ParlorReactor
import ParlorServiceKit
import Synchronization
import Testing

@testable import ParlorGatewayLimits

@Suite("Limits of people and addresses")
struct LimitsTests {
    private final class Clock: Sendable {
        private let time = Mutex(LoopInstant(nanoseconds: 1_000_000_000_000))

        var now: LoopInstant { time.withLock { $0 } }
        func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
    }

    private let clock: Clock
    private let metrics = Metrics()
    private let limits: Limits
    private let home = IPAddress("10.0.0.1")
    private let logins = RateLimit("logins", .failures, perPerson: 1000, perAddress: 2, seconds: 3600)

    init() {
        let clock = Clock()
        self.clock = clock
        limits = Limits(
            RateLimiter(isOn: true, overrides: ["unknown": Rate(perPerson: 1, perAddress: 3, window: .seconds(10))]),
            RequestSlots(isOn: true, maxPerPerson: 2, maxHeavyPerPerson: 1), metrics: metrics
        ) { clock.now }
    }

    private func isPassed(_ body: () throws(ServiceError) -> Void) -> Bool {
        do throws(ServiceError) {
            try body()
            return true
        } catch {
            return error.code != .rateLimited
        }
    }

    @Test(
        "a route or event counts against the limits that its manifest names, or else against reads or writes")
    func named() throws {
        func names(_ method: String, _ limits: [String]) -> [String] {
            let catalog = Catalog(required: []).adding(
                Manifest(
                    service: "chat", routes: [Route(method, "/x", "chat.x", limits: limits)],
                    limits: [logins, RateLimit("sends", perPerson: 5, perAddress: 50, seconds: 10)]))
            guard case .route(let route, _) = catalog.routes.match(method, ["x"]) else { return [] }
            return route.limits.map(\.name)
        }
        #expect(names("GET", []) == ["reads"] && names("POST", []) == ["writes"])
        #expect(names("POST", ["sends"]) == ["sends"])
        #expect(names("POST", ["logins"]) == ["logins", "writes"])
        #expect(names("GET", ["nobody's"]) == ["reads"])
    }

    @Test("the gateway's own limits are those that services may name")
    func ownNames() { #expect(Set(OwnLimits.all.map(\.name)) == RateLimit.namesOfGateways) }

    @Test("a person's refused requests do not count for others behind the same address; time gives back")
    func person() throws {
        let address = try #require(home)
        func ask(_ person: String) -> Bool {
            isPassed { () throws(ServiceError) in
                try limits.passAddress([OwnLimits.unknown], address)
                try limits.pass([OwnLimits.unknown], person: person, address: address, isAddressCounted: true)
            }
        }
        #expect(ask("ada"))
        for _ in 1...5 { #expect(!ask("ada")) }
        #expect(ask("bob") && ask("cy") && !ask("eve"))
        clock.advance(by: .seconds(10))
        #expect(ask("ada"))
        #expect(metrics.text().contains("parlor_rate_limited_total 6"))
    }

    @Test("only failures stay counted where a limit counts failures")
    func failures() throws {
        let address = try #require(home)
        for _ in 1...5 { limits.settle(try limits.pass([logins], person: nil, address: address), nil) }
        for _ in 1...2 {
            let pass = try limits.pass([logins], person: nil, address: address)
            limits.settle(pass, ServiceError(.invalidCredentials, "No."))
        }
        #expect(!isPassed { () throws(ServiceError) in try limits.passAddress([logins], address) })
    }

    @Test("written bytes are counted; a retry gets them back, and a check alone counts nothing")
    func bytes() throws {
        let address = try #require(home)
        let (half, writes) = (32 << 20, [OwnLimits.writes])
        for _ in 1...5 { try limits.check(writes, person: "ada", address: address, writing: half) }
        for _ in 1...5 {
            limits.giveBackBytes(try limits.pass(writes, person: "ada", address: address, writing: half))
        }
        _ = try limits.pass(writes, person: "ada", address: address, writing: half)
        #expect(
            !isPassed { () throws(ServiceError) in
                try limits.pass(writes, person: "ada", address: address, writing: half)
            })
        #expect(
            isPassed { () throws(ServiceError) in
                try limits.pass(writes, person: "bob", address: address, writing: half)
            })
    }

    @Test("a composed list counts by its rooms, and refuses the next")
    func lists() throws {
        let address = try #require(home)
        try limits.passList("ada", address)
        limits.noteList(of: 20_000, for: "ada", address)
        #expect(!isPassed { () throws(ServiceError) in try limits.passList("ada", address) })
        #expect(isPassed { () throws(ServiceError) in try limits.passList("bob", address) })
    }

    @Test("a person's concurrent requests are limited; a heavy one waits for its slot until its deadline")
    func slots() async throws {
        let limits = limits
        let one = try limits.enter("ada")
        let two = try limits.enter("ada")
        #expect(!isPassed { () throws(ServiceError) in _ = try limits.enter("ada") })
        try await TestLoop.run { loop in
            #expect(await OnLoop(loop.loop).isRefused(limits), "the only slot was taken until then")
        }
        withExtendedLifetime((one, two)) {}
    }

    /// Timers are for those who are on the loop.
    private actor OnLoop {
        private nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(_ loop: EventLoop) { self.loop = loop }

        /// Returns whether a second heavy request of a person is refused in time.
        func isRefused(_ limits: Limits) async -> Bool {
            do throws(ServiceError) {
                let first = try await limits.enterHeavy("ada", on: loop, by: .now() + .seconds(60))
                defer { withExtendedLifetime(first) {} }
                _ = try await limits.enterHeavy("ada", on: loop, by: .now() + .milliseconds(5))
                return false
            } catch {
                return error.code == .rateLimited
            }
        }
    }
}
