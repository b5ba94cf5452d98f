import Contracts
import ServiceKit

extension Push {
    /// Takes in a device of the caller's: `{token, platform, environment}`. It belongs to whoever registered it last, and what
    /// was to be sent to it as another's is not sent.
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
        let device = Device(token: token, userID: caller.id, environment: environment, registeredAt: clock.now())
        let isNew = try await database.write { try PushDatabase($0).register(device) }
        return Reply(isNew ? .created : .ok)
    }
}
