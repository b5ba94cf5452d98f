import Foundation

/// The parts that all conversations of one person share.
package struct MessageBacking: Sendable {
    package let server: any MessageServer
    package var outbox: Outbox
    package var cache: MessageCache
    package var receipts: ReadReceipts
    package var clock: any ClientClock
    /// Returns a new `tempID`, which must be unique.
    package var makeID: @Sendable () -> String
    /// Returns a number from 0 up to 1, which spreads the retries of many clients.
    package var random: @Sendable () -> Double
    let fresh = FreshRooms()
    let joins: RoomJoins

    package init(
        server: any MessageServer, outbox: Outbox, cache: MessageCache, receipts: ReadReceipts,
        clock: any ClientClock, makeID: @escaping @Sendable () -> String = { UUID().uuidString },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.server = server
        joins = RoomJoins(server: server)
        self.outbox = outbox
        self.cache = cache
        self.receipts = receipts
        self.clock = clock
        self.makeID = makeID
        self.random = random
    }
}
