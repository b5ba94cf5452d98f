// What others know of Messaging: the requests that they make of it, the facts in its log, and its error codes and limits.
extension LogID {
    public static let messaging = LogID("messaging")
}
