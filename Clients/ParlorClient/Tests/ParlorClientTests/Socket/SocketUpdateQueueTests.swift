import Testing

@testable import ParlorClient

@MainActor
@Suite("SocketUpdateQueue", .timeLimit(.minutes(1)))
struct SocketUpdateQueueTests {
    @Test("all that has arrived is taken at once, in order, up to a full queue; more is added only then")
    func full() async {
        let queue = SocketUpdateQueue()
        for _ in 0..<SocketUpdateQueue.capacity { await queue.add(.connected) }
        var isAdded = false
        let adding = Task {
            await queue.add(.recovered(true))
            isAdded = true
        }
        // These are enough turns for `add` to return if it did not wait.
        for _ in 0..<1000 { await Task.yield() }
        #expect(!isAdded)
        queue.put(.recovered(false))
        let first = Array(repeating: SocketUpdate.connected, count: SocketUpdateQueue.capacity)
        #expect(await queue.next()?.map(\.update) == first + [.recovered(true), .recovered(false)])
        await adding.value
        await queue.add(.connecting)
        #expect(await queue.next()?.map(\.update) == [.connecting])
    }

    @Test("after the finish, waiting updates are still delivered, and later ones are dropped")
    func finishes() async {
        let queue = SocketUpdateQueue()
        await queue.add(.connected)
        queue.finish()
        await queue.add(.recovered(true))
        #expect(await queue.next()?.map(\.update) == [.connected])
        #expect(await queue.next() == nil)
    }
}
