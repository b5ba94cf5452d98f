import Testing

@testable import ParlorMessageBus

@Suite("pending requests")
struct PendingRequestsTests {
    @Test("a request is taken once")
    func take() {
        var pending = PendingRequests<String>()
        let a = pending.insert("a", deadline: .seconds(1))
        let b = pending.insert("b", deadline: .seconds(1))
        #expect(pending[a] == "a")
        #expect(pending.take(a) == "a")
        #expect(pending.take(a) == nil)
        #expect(pending.count == 1)
        #expect(pending.take(b) == "b")
        #expect(pending.isEmpty)
    }

    @Test("a request ends at its deadline, never before, and at most a bucket later")
    func expire() {
        var pending = PendingRequests<Int>()
        _ = pending.insert(1, deadline: .milliseconds(995))
        _ = pending.insert(2, deadline: .milliseconds(500))
        let taken = pending.insert(3, deadline: .milliseconds(500))
        #expect(pending.take(taken) == 3)
        #expect(pending.expire(at: .milliseconds(499)).isEmpty)
        #expect(pending.expire(at: .milliseconds(510)) == [2])
        #expect(pending.expire(at: .milliseconds(994)).isEmpty)
        #expect(pending.expire(at: .seconds(100)) == [1])
        #expect(pending.nextExpiry == nil)
    }

    @Test("the next check is due at the first deadline, also after that request was answered")
    func nextExpiry() {
        var pending = PendingRequests<Int>()
        #expect(pending.nextExpiry == nil)
        _ = pending.insert(1, deadline: .seconds(5))
        #expect(pending.nextExpiry == .milliseconds(5010))
        let answered = pending.insert(2, deadline: .milliseconds(100))
        #expect(pending.nextExpiry == .milliseconds(110))
        // The timer for that time fires in any case.
        _ = pending.take(answered)
        #expect(pending.nextExpiry == .milliseconds(110))
        #expect(pending.expire(at: .milliseconds(109)).isEmpty && pending.nextExpiry == .milliseconds(110))
        #expect(pending.expire(at: .milliseconds(110)).isEmpty && pending.nextExpiry == .milliseconds(5010))
        #expect(pending.expire(at: .milliseconds(5010)) == [1] && pending.nextExpiry == nil)
    }

    @Test("deadlines in the past and in the far future are kept as such")
    func extremes() {
        var pending = PendingRequests<Int>()
        _ = pending.insert(1, deadline: .seconds(-5))
        _ = pending.insert(2, deadline: .milliseconds(Int.max) + .seconds(1 << 40))
        #expect(pending.expire(at: .zero) == [1])
        #expect(pending.expire(at: .seconds(1 << 30)).isEmpty)
        #expect(pending.takeAll() == [2])
    }

    @Test("requests that fit are taken in the order of their addition")
    func takeAll() {
        var pending = PendingRequests<Int>()
        for number in 0..<10 { _ = pending.insert(number, deadline: .seconds(10 - number)) }
        #expect(pending.takeAll { $0 % 2 == 1 } == [1, 3, 5, 7, 9])
        #expect(pending.takeAll() == [0, 2, 4, 6, 8])
    }
}
