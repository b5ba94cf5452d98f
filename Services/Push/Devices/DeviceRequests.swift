import ParlorContracts
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let registerDevice = RequestDescription(
        "Registers a device for notifications.", takes: Push.newDevice, gives: .object(), statuses: [.created, .ok],
        errors: [.invalidField])
    static let unregisterDevice = RequestDescription(
        "Removes a device of the caller's.", takes: Push.removedDevice)
}

/// The requests of clients about their devices.
struct Push: Sendable {
    let database: any Database
    let reader: DurableFollower<JobMaker>
    let sessions: DeviceSessions
    let clock: any WallClock

    fileprivate static let newDevice = Fields(
        .string("token", DeviceToken.schema, DeviceToken.init(_:)), platform, environment)
    private static let platform = Field.string("platform", .choice([Device.platform])) { text throws(ServiceError) in
        guard text == Device.platform else { throw .invalid("platform", "has to be \(Device.platform)") }
        return text
    }
    private static let environment = Field.string(
        "environment", .choice(Device.Environment.allCases.map(\.rawValue))
    ) { text throws(ServiceError) in
        guard let environment = Device.Environment(rawValue: text) else {
            throw .invalid("environment", "has to be production or sandbox")
        }
        return environment
    }
    fileprivate static let removedDevice = Fields(.string("token", DeviceToken.schema))

    /// Registers a device of the caller's. It belongs to the person who registered it last, and is removed when the
    /// session of that request ends. Its pending notifications for another person are not sent. It can be notified of
    /// every message that is sent after the reply.
    ///
    /// - Throws: `service_unavailable` if messaging does not reply before the first registration
    ///   ever: push does not know the head of messaging's log yet.
    func registerDevice(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let (token, _, environment) = try Self.newDevice.read(request.fields)
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
        let text = try Self.removedDevice.read(request.fields)
        // Another text was never stored as a token, and a database may not accept it.
        guard let token = try? DeviceToken(text) else { return Reply(.noContent) }
        try await database.write { try DevicesStore($0).remove(token.text, of: caller.id) }
        return Reply(.noContent)
    }
}
