extension RoomsClient {
    /// The settings that an app may pass to its ``ParlorAccount``.
    public struct Settings: Sendable {
        /// The initial order of rooms.
        public var order = RoomOrder.activity
        /// The number of newest messages to cache on disk for each room.
        public var messageLimit = 50
        /// The number of rooms whose messages are cached: those opened last.
        public var roomLimit = 50
        package var conversation = Conversation.Settings()
        package var outbox = Outbox.Settings()
        package var receipts = ReadReceipts.Settings()
        /// Where the client and its account log.
        public var log = ClientLog.system

        public init() {}
    }
}
