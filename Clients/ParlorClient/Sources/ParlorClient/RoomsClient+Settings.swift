extension RoomsClient {
    /// The settings that an app may pass to the client's initializer.
    public struct Settings: Sendable {
        /// The initial order of rooms.
        public var order = RoomOrder.activity
        /// The number of newest messages to cache on disk for each room.
        public var messageLimit = 50
        /// The number of rooms whose messages are cached: those opened last.
        public var roomLimit = 50
        public var conversation = Conversation.Settings()
        public var outbox = Outbox.Settings()
        public var receipts = ReadReceipts.Settings()
        /// Where the client logs. ``SessionTokens`` has a parameter of its own.
        public var log = ClientLog.system

        public init() {}
    }
}
