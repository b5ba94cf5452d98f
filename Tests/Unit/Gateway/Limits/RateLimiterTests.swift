import ParlorContracts
import ParlorReactor
import ParlorServiceKit
import Testing

@testable import ParlorGatewayLimits

extension RateLimiter {
    fileprivate func take(
        _ limits: [RateLimit], person: String?, address: IPAddress?, cost: Int = 1, now: Int
    ) -> Int? {
        take(limits.map { .init($0, cost: cost) }, person: person, address: address, now: now)?.seconds
    }
}

@Suite("The rate limiter")
struct RateLimiterTests {
    private let limiter = RateLimiter(isOn: true, overrides: [:])
    private let sends = RateLimit("sends", perPerson: 3, perAddress: 6, seconds: 3)

    private static let home = address("10.0.0.1")
    private static let other = address("10.0.0.2")

    private static func address(_ text: String) -> IPAddress {
        guard let address = IPAddress(text) else { preconditionFailure("\(text) is no address") }
        return address
    }

    private func take(_ person: String?, at now: Int, from address: IPAddress = home) -> Int? {
        limiter.take([sends], person: person, address: address, now: now)
    }

    private func giveBack(_ person: String?, at now: Int) {
        limiter.giveBack([.init(sends)], person: person, address: Self.home, now: now)
    }

    @Test("a burst up to the limit passes, and the next request gets the time to wait")
    func burst() {
        for _ in 1...3 { #expect(take("ada", at: 1000) == nil) }
        #expect(take("ada", at: 1000) == 1)
    }

    @Test("the last allowed request of a burst passes, whatever the numbers and the time")
    func exactBursts() {
        for (count, window) in [(60, 10), (600, 10), (3, 10), (7, 1), (20, 60)] {
            for now in stride(from: 1, to: 4_000_000_000, by: 81_234_567) {
                let limiter = RateLimiter(isOn: true, overrides: [:])
                let limit = RateLimit("n", perPerson: count, perAddress: count, seconds: window)
                for _ in 1...count {
                    #expect(limiter.take([limit], person: nil, address: Self.home, now: now) == nil)
                }
                #expect(limiter.take([limit], person: nil, address: Self.home, now: now) != nil)
            }
        }
    }

    @Test("time gives back one request after the other, up to the limit")
    func recovery() {
        for _ in 1...3 { _ = take("ada", at: 1000) }
        #expect(take("ada", at: 1999) == 1)
        #expect(take("ada", at: 2000) == nil)
        #expect(take("ada", at: 2000) == 1)
        for _ in 1...3 { #expect(take("ada", at: 60_000) == nil) }
        #expect(take("ada", at: 60_000) == 1)
    }

    @Test("refused requests do not count: a client that keeps trying gets in as soon as one that waits")
    func refused() {
        for _ in 1...3 { _ = take("ada", at: 1000) }
        for now in 1000..<2000 { #expect(take("ada", at: now) != nil) }
        #expect(take("ada", at: 2000) == nil)
    }

    @Test("people are counted separately, and their address together")
    func perAddress() {
        for person in ["ada", "bob"] { for _ in 1...3 { #expect(take(person, at: 1000) == nil) } }
        #expect(take("cy", at: 1000) == 1)
        #expect(take("cy", at: 1000, from: Self.other) == nil)
        #expect(take("ada", at: 1000, from: Self.other) == 1)
    }

    @Test("without a person, only the address counts")
    func nobody() {
        for _ in 1...6 { #expect(take(nil, at: 1000) == nil) }
        #expect(take(nil, at: 1000) == 1)
    }

    @Test("a returned request was never counted, for the person and for the address")
    func givenBack() {
        for _ in 1...100 {
            #expect(take("ada", at: 1000) == nil)
            giveBack("ada", at: 1000)
        }
        for _ in 1...3 { #expect(take("ada", at: 1000) == nil) }
        #expect(take("ada", at: 1000) == 1)
        giveBack("ada", at: 1200)
        #expect(take("ada", at: 1200) == nil)
        #expect(take("ada", at: 1200) == 1)
    }

    @Test("a request with a higher cost counts for more, and one over the limit never passes")
    func costs() {
        func take(_ cost: Int, at now: Int) -> Int? {
            limiter.take([sends], person: "ada", address: nil, cost: cost, now: now)
        }
        #expect(take(2, at: 1000) == nil)
        #expect(take(2, at: 1000) == 1)
        #expect(take(1, at: 1000) == nil)
        limiter.giveBack([.init(sends, cost: 2)], person: "ada", address: nil, now: 1000)
        #expect(take(2, at: 1000) == nil)
        for now in [1000, 1_000_000] { for cost in [4, 1 << 40, .max] { #expect(take(cost, at: now) != nil) } }
        #expect(take(3, at: 1_000_000) == nil)
    }

    @Test("a cost counted afterwards may exceed the limit, and refuses the next requests for as long")
    func after() {
        #expect(take("ada", at: 0) == nil)
        limiter.add([.init(sends, cost: 4)], person: "ada", address: Self.home, now: 0)
        #expect(take("ada", at: 0) == 3)
        #expect(take("ada", at: 2999) == 1)
        #expect(take("ada", at: 3000) == nil)
        #expect(take("bob", at: 3000) == nil)
    }

    @Test("an address alone is counted for unknown callers, and a person alone after that")
    func apartFromTheAddress() {
        for _ in 1...6 { #expect(limiter.take([sends], person: nil, address: Self.home, now: 1000) == nil) }
        for _ in 1...3 { #expect(limiter.take([sends], person: "ada", address: nil, now: 1000) == nil) }
        #expect(limiter.take([sends], person: "ada", address: nil, now: 1000) == 1)
        #expect(take("bob", at: 1000) == 1)
    }

    @Test("no more than was counted can be given back")
    func givenBackTwice() {
        _ = take("ada", at: 1000)
        for _ in 1...5 { giveBack("ada", at: 1000) }
        for _ in 1...3 { #expect(take("ada", at: 1000) == nil) }
        #expect(take("ada", at: 1000) == 1)
    }

    @Test("the longest wait of several limits counts, and a refusal by one counts against none")
    func several() {
        let rare = RateLimit("rare", perPerson: 1, perAddress: 1, seconds: 60)
        func both() -> Int? { limiter.take([sends, rare], person: "ada", address: Self.home, now: 1000) }
        #expect(both() == nil)
        for _ in 1...5 { #expect(both() == 60) }
        for _ in 1...2 { #expect(take("ada", at: 1000) == nil) }
        #expect(take("ada", at: 1000) == 1)
    }

    @Test("the wait is in whole seconds, rounded up")
    func wait() {
        let slow = RateLimit("slow", perPerson: 1, perAddress: 1, seconds: 60)
        #expect(limiter.take([slow], person: "ada", address: Self.home, now: 0) == nil)
        #expect(limiter.take([slow], person: "ada", address: Self.home, now: 100) == 60)
        #expect(limiter.take([slow], person: "ada", address: Self.home, now: 58_001) == 2)
    }

    @Test("limits of different names are separate, and so are a person and an address with the same spelling")
    func apart() {
        for _ in 1...3 { _ = take("10.0.0.2", at: 1000) }
        #expect(
            limiter.take(
                [RateLimit("other", perPerson: 1, perAddress: 1, seconds: 1)], person: "10.0.0.2", address: Self.home,
                now: 1000)
                == nil)
        #expect(take("ada", at: 1000, from: Self.other) == nil)
    }

    @Test("a setting replaces the service's rate, and all limits can be off")
    func settings() throws {
        let rate = try #require(Rate(setting: "1/10s,2/20s"))
        let overridden = RateLimiter(isOn: true, overrides: ["sends": rate])
        #expect(overridden.take([sends], person: "ada", address: Self.home, now: 0) == nil)
        #expect(overridden.take([sends], person: "ada", address: Self.home, now: 0) == 10)
        #expect(overridden.take([sends], person: "bob", address: Self.home, now: 0) == nil)
        #expect(overridden.take([sends], person: "cy", address: Self.home, now: 0) == 10)
        let off = RateLimiter(isOn: false, overrides: ["sends": rate])
        for _ in 1...100 { #expect(off.take([sends], person: "ada", address: Self.home, now: 0) == nil) }
    }

    @Test("over the limit on tracked people, those inactive for longest start afresh, and nobody else")
    func forgets() {
        let small = RateLimiter(isOn: true, overrides: [:], maxKeys: 8)
        let wide = RateLimit("wide", perPerson: 1, perAddress: 1_000_000, seconds: 60)
        func come(_ person: String) -> Int? { small.take([wide], person: person, address: Self.home, now: 0) }
        #expect(come("ada") == nil && come("bob") == nil)
        for number in 1...100 {
            #expect(come("\(number)") == nil)
            #expect(come("ada") == 60)
        }
        #expect(come("bob") == nil)
    }

    @Test("a name of any length takes no more memory than a short one, and still counts")
    func longNames() {
        let long = String(repeating: "x", count: 100_000)
        for index in 1...3 { #expect(take(long + "\(index)", at: 0) == nil) }
        #expect(take(long + "4", at: 0) == 1)
    }
}
