extension RoomsClient {
    /// Settings that an app may change.
    public struct Settings: Sendable {
        /// In which order the rooms come at first.
        public var order = RoomOrder.activity
        /// So many of a room's newest messages are kept on disk…
        public var messageLimit = 50
        /// …of so many rooms, those opened last.
        public var roomLimit = 50
        public var conversation = Conversation.Settings()
        public var outbox = Outbox.Settings()
        public var receipts = ReadReceipts.Settings()

        public init() {}
    }
}
