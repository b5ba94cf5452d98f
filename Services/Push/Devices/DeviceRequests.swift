import ParlorContracts
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let registerDevice = RequestDescription(
        "Registers a device for notifications.",
        takes: .object([
            "token": DeviceToken.schema, "platform": .choice([Device.platform]),
            "environment": .choice(Device.Environment.allCases.map(\.rawValue)),
        ]), gives: .object(), statuses: [.created, .ok], errors: [.invalidField])
    static let unregisterDevice = RequestDescription(
        "Removes a device of the caller's.", takes: .object(["token": DeviceToken.schema]))
}

/// The requests of clients about their devices.
struct Push: Sendable {
    let database: any Database
    let reader: DurableFollower<JobMaker>
    let sessions: DeviceSessions
    let clock: any WallClock

    /// Registers a device of the caller's: `{token, platform, environment}`. It belongs to the
    /// person who registered it last, and is removed when the session of that request ends. Its
    /// pending notifications for another person are not sent. It can be notified of every
    /// message that is sent after the reply.
    ///
    /// - Throws: `service_unavailable` if messaging does not reply before the first registration
    ///   ever: push does not know the head of messaging's log yet.
    func registerDevice(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let token = try DeviceToken(try request.fields.string("token"))
        let platform = try request.fields.string("platform")
        guard platform == Device.platform else {
            throw ServiceError.invalid("platform", "has to be \(Device.platform)")
        }
        guard let environment = Device.Environment(rawValue: try request.fields.string("environment")) else {
            throw ServiceError.invalid("environment", "has to be production or sandbox")
        }
        try await reader.beginIfNew(request.onward())
        let device = Device(token: token, userID: caller.id, environment: environment, registeredAt: clock.now())
        let sessionID = request.fields[ClientInfo.member].flatMap(ClientInfo.init)?.sessionID
        let isNew = try await database.write { try DevicesStore($0).register(device, in: sessionID) }
        // The session may have ended before the device was written.
        if let sessionID { sessions.check(sessionID) }
        return Reply(isNew ? .created : .ok)
    }

    /// Removes a device of the caller's. Another person's device is not removed; the answer is the same, also for
    /// an unknown one.
    func unregisterDevice(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let text = try request.fields.string("token")
        // Another text was never stored as a token, and a database may not accept it.
        guard let token = try? DeviceToken(text) else { return Reply(.noContent) }
        try await database.write { try DevicesStore($0).remove(token.text, of: caller.id) }
        return Reply(.noContent)
    }
}
