import Testing

@testable import RoomsClient

@MainActor
@Suite("HappeningQueue", .timeLimit(.minutes(1)))
struct HappeningQueueTests {
    @Test("one who adds to a full queue waits until something is taken")
    func full() async {
        let queue = SocketUpdateQueue()
        for _ in 0..<SocketUpdateQueue.capacity { await queue.add(.connected) }
        var isAdded = false
        let adding = Task {
            await queue.add(.recovered(true))
            isAdded = true
        }
        // As often as it takes to add, if it did not wait.
        for _ in 0..<1000 { await Task.yield() }
        #expect(!isAdded)
        queue.put(.recovered(false))
        for _ in 0..<SocketUpdateQueue.capacity { #expect(await queue.next() == .connected) }
        await adding.value
        #expect(await queue.next() == .recovered(true))
        #expect(await queue.next() == .recovered(false))
    }

    @Test("what is in it when it is finished is still taken, and nothing after")
    func finishes() async {
        let queue = SocketUpdateQueue()
        await queue.add(.connected)
        queue.finish()
        await queue.add(.recovered(true))
        #expect(await queue.next() == .connected)
        #expect(await queue.next() == nil)
    }
}
