/// The entries that gateways find in a service's event log.
public struct LogContents: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Events for clients (`Manifest.hasEventLog`).
    public static let clientEvents = LogContents(rawValue: 1)
    /// An entry for each change of what lists of rooms show. The service's fields of messages and people also get an
    /// entry for each change, with the fact `fieldsChanged` (`Manifest.logsWhatRoomsShow`).
    public static let roomChanges = LogContents(rawValue: 2)
    /// Sessions that ended (`Manifest.logsEndedSessions`).
    public static let endedSessions = LogContents(rawValue: 4)
}
