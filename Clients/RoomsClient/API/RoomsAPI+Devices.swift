import Foundation

/// Which of Apple's servers a device's token is for.
public enum PushEnvironment: String, Codable, Sendable {
    case production
    case sandbox
}

extension RoomsAPI {
    /// Has pushes sent to this device. A token belongs to the last person who registered it.
    public func registerDevice(token: String, environment: PushEnvironment) async throws {
        try await perform(
            try HTTPRequest(
                "POST", to: ["devices"],
                body: [
                    "token": .string(token), "platform": .string("ios"),
                    "environment": .string(environment.rawValue),
                ]))
    }

    /// Succeeds, without effect, for a token that is unknown or another's.
    public func removeDevice(token: String) async throws {
        try await perform(try HTTPRequest("DELETE", to: ["devices", token]))
    }
}
