import Observation
import ParlorClient
import Testing

@Suite("Observed values", .timeLimit(.minutes(1)))
@MainActor
struct ObservedValuesTests {
    @Observable
    @MainActor
    final class Counter {
        var count = 0
        var other = 0
    }

    @Test("the first value is that of the start, and each later one that of a change")
    func changes() async {
        let counter = Counter()
        var values = ObservedValues({ counter.count }).makeAsyncIterator()
        #expect(await values.next() == 0)
        for count in 1...3 {
            counter.count = count
            #expect(await values.next() == count)
        }
    }

    @Test("changes in one turn, and those while a value is handled, are one value: the latest")
    func latest() async {
        let counter = Counter()
        var values = ObservedValues({ counter.count }).makeAsyncIterator()
        #expect(await values.next() == 0)
        for count in 1...100 { counter.count = count }
        #expect(await values.next() == 100)
        counter.count = 101
        #expect(await values.next() == 101)
    }

    @Test("a change of what the closure does not read is no value")
    func others() async {
        let counter = Counter()
        var values = ObservedValues({ counter.count }).makeAsyncIterator()
        #expect(await values.next() == 0)
        counter.other = 1
        counter.count = 2
        #expect(await values.next() == 2)
    }

    @Test("a value that changes while the sequence waits arrives")
    func waiting() async {
        let counter = Counter()
        let counts = ObservedValues({ counter.count })
        let (started, continuation) = AsyncStream.makeStream(of: Int.self)
        let task = Task {
            for await count in counts {
                continuation.yield(count)
                if count == 3 { return }
            }
        }
        var seen = started.makeAsyncIterator()
        #expect(await seen.next() == 0)
        counter.count = 2
        #expect(await seen.next() == 2)
        counter.count = 3
        #expect(await seen.next() == 3)
        await task.value
    }

    @Test("the sequence ends when its task is cancelled")
    func cancelled() async {
        let counter = Counter()
        let counts = ObservedValues({ counter.count })
        let (started, continuation) = AsyncStream.makeStream(of: Int.self)
        let task = Task {
            for await count in counts { continuation.yield(count) }
        }
        var seen = started.makeAsyncIterator()
        #expect(await seen.next() == 0)
        task.cancel()
        await task.value
    }
}
