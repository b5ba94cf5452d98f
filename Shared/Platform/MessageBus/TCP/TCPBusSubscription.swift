/// A subscription as it is made anew on each connection.
enum TCPBusSubscription: Sendable {
    case events(pattern: String, queue: String?, @Sendable (BusMessage) -> Void)
    case requests(pattern: String, queue: String, @Sendable (BusRequest) -> Void)
}
