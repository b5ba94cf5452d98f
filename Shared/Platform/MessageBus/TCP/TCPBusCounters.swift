/// What a bus over TCP could not do, since it was made.
public struct TCPBusCounters: Sendable, Equatable {
    public internal(set) var reconnections = 0
    /// Published while there was no connection.
    public internal(set) var droppedEvents = 0
    /// Not sent because too much waited already; whoever asked is told `slowConsumer` in their place.
    public internal(set) var refusedReplies = 0
    /// The same when even that had no room; their requests end by deadline.
    public internal(set) var droppedReplies = 0
    public internal(set) var malformedLines = 0
    /// Questions that were sent again, as no reply had come; each time counts.
    public internal(set) var repeatedQuestions = 0
}
