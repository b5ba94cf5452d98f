import Foundation

/// The environment of a device token: which of Apple's servers it is for.
public enum PushEnvironment: String, Codable, Sendable {
    case production
    case sandbox
}

extension RoomsAPI {
    /// Registers this device for push notifications. A token belongs to the last person who
    /// registered it.
    public func registerDevice(token: String, environment: PushEnvironment) async throws {
        try await perform(
            try HTTPRequest(
                "POST", to: ["devices"],
                body: [
                    "token": .string(token), "platform": .string("ios"),
                    "environment": .string(environment.rawValue),
                ]))
    }

    /// Removes a device. Succeeds without effect for an unknown token, or another person's.
    public func removeDevice(token: String) async throws {
        try await perform(try HTTPRequest("DELETE", to: ["devices", token]))
    }
}
