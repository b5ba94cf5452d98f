import ParlorJSON

/// Sessions of one person that ended together. They are written as the only emission of an entry, in the log of the
/// service that ends them (`Manifest.logsEndedSessions`). The entry is for gateways and push, and is never sent to a
/// client.
public struct SessionsEnded: Sendable, Equatable {
    public let sessionIDs: [String]
    /// The time at which the last of their access tokens expires; it is in the past if none is valid any more.
    public let tokensUntil: Timestamp

    static let event = "sessions:ended"

    public init(sessionIDs: [String], tokensUntil: Timestamp) {
        self.sessionIDs = sessionIDs
        self.tokensUntil = tokensUntil
    }

    public func emission(to personID: String) -> Emission {
        let data = JSONWriter.object(reservingCapacity: 64 + 40 * sessionIDs.count) {
            $0.member("sessions", sessionIDs)
            $0.member("tokensUntil", tokensUntil.milliseconds)
        }
        return Emission(to: .person(personID), Self.event, data)
    }

    /// Parses the result of `emission(to:)`; nil for anything else.
    public init?(_ emission: Emission) {
        guard emission.event == Self.event, let ids = emission.data["sessions"]?.list(of: \.string),
            let until = emission.data["tokensUntil"]?.int
        else { return nil }
        self.init(sessionIDs: ids, tokensUntil: Timestamp(milliseconds: until))
    }
}
