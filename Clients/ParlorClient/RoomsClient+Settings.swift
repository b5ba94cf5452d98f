extension RoomsClient {
    /// Settings that an app may change.
    public struct Settings: Sendable {
        /// The initial order of rooms.
        public var order = RoomOrder.activity
        /// The number of a room's newest messages that are kept on disk.
        public var messageLimit = 50
        /// The number of rooms whose messages are kept, those opened last.
        public var roomLimit = 50
        public var conversation = Conversation.Settings()
        public var outbox = Outbox.Settings()
        public var receipts = ReadReceipts.Settings()

        public init() {}
    }
}
