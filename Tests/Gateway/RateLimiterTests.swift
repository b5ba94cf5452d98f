import Contracts
import ServiceKit
import Testing

@testable import Gateway

@Suite("The rate limiter")
struct RateLimiterTests {
    private let limiter = RateLimiter(isOn: true, overrides: [:])
    private let sends = RateLimit("sends", perPerson: 3, perAddress: 6, seconds: 3)

    private func take(_ person: String?, at now: Int, from address: String = "a") -> Int? {
        limiter.take([sends], person: person, address: address, now: now)
    }

    private func giveBack(_ person: String?, at now: Int) {
        limiter.giveBack([sends], person: person, address: "a", now: now)
    }

    @Test("a burst up to the limit passes, the next is told how long to wait")
    func burst() {
        for _ in 1...3 { #expect(take("ada", at: 1000) == nil) }
        #expect(take("ada", at: 1000) == 1)
    }

    @Test("time gives back one after the other, and no more than the limit")
    func recovery() {
        for _ in 1...3 { _ = take("ada", at: 1000) }
        #expect(take("ada", at: 1999) == 1)
        #expect(take("ada", at: 2000) == nil)
        #expect(take("ada", at: 2000) == 1)
        for _ in 1...3 { #expect(take("ada", at: 60_000) == nil) }
        #expect(take("ada", at: 60_000) == 1)
    }

    @Test("what was refused does not count: who keeps trying is let in as soon as who waits")
    func refused() {
        for _ in 1...3 { _ = take("ada", at: 1000) }
        for now in 1000..<2000 { #expect(take("ada", at: now) != nil) }
        #expect(take("ada", at: 2000) == nil)
    }

    @Test("people count each on their own, and their address together")
    func perAddress() {
        for person in ["ada", "bob"] { for _ in 1...3 { #expect(take(person, at: 1000) == nil) } }
        #expect(take("cy", at: 1000) == 1)
        #expect(take("cy", at: 1000, from: "b") == nil)
        #expect(take("ada", at: 1000, from: "b") == 1)
    }

    @Test("without a person, only the address counts")
    func nobody() {
        for _ in 1...6 { #expect(take(nil, at: 1000) == nil) }
        #expect(take(nil, at: 1000) == 1)
    }

    @Test("what is given back was never counted, for the person and for the address")
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

    @Test("more than was counted cannot be given back")
    func givenBackTwice() {
        _ = take("ada", at: 1000)
        for _ in 1...5 { giveBack("ada", at: 1000) }
        for _ in 1...3 { #expect(take("ada", at: 1000) == nil) }
        #expect(take("ada", at: 1000) == 1)
    }

    @Test("of several limits the longest wait counts, and what one refuses counts against none")
    func several() {
        let rare = RateLimit("rare", perPerson: 1, perAddress: 1, seconds: 60)
        func both() -> Int? { limiter.take([sends, rare], person: "ada", address: "a", now: 1000) }
        #expect(both() == nil)
        for _ in 1...5 { #expect(both() == 60) }
        for _ in 1...2 { #expect(take("ada", at: 1000) == nil) }
        #expect(take("ada", at: 1000) == 1)
    }

    @Test("the wait is told in whole seconds, rounded up")
    func wait() {
        let slow = RateLimit("slow", perPerson: 1, perAddress: 1, seconds: 60)
        #expect(limiter.take([slow], person: "ada", address: "a", now: 0) == nil)
        #expect(limiter.take([slow], person: "ada", address: "a", now: 100) == 60)
        #expect(limiter.take([slow], person: "ada", address: "a", now: 58_001) == 2)
    }

    @Test("limits of different names do not touch each other, nor a person and an address that are spelled the same")
    func apart() {
        for _ in 1...3 { _ = take("a", at: 1000, from: "x") }
        #expect(
            limiter.take(
                [RateLimit("other", perPerson: 1, perAddress: 1, seconds: 1)], person: "a", address: "x", now: 1000)
                == nil)
        #expect(take("b", at: 1000, from: "a") == nil)
    }

    @Test("a setting takes the place of what the service says, and all of it can be off")
    func settings() throws {
        let rate = try #require(Rate(setting: "1/10s,2/20s"))
        let overridden = RateLimiter(isOn: true, overrides: ["sends": rate])
        #expect(overridden.take([sends], person: "ada", address: "a", now: 0) == nil)
        #expect(overridden.take([sends], person: "ada", address: "a", now: 0) == 10)
        #expect(overridden.take([sends], person: "bob", address: "a", now: 0) == nil)
        #expect(overridden.take([sends], person: "cy", address: "a", now: 0) == 10)
        let off = RateLimiter(isOn: false, overrides: ["sends": rate])
        for _ in 1...100 { #expect(off.take([sends], person: "ada", address: "a", now: 0) == nil) }
    }

    @Test("a name of any length takes no more room than a short one, and still counts")
    func longNames() {
        let long = String(repeating: "x", count: 100_000)
        for index in 1...3 { #expect(take(long + "\(index)", at: 0) == nil) }
        #expect(take(long + "4", at: 0) == 1)
    }
}
