import Foundation

/// The environment of Apple's push service to which a device token belongs.
public enum PushEnvironment: String, Codable, Sendable {
    case production
    case sandbox
}

extension RoomsAPI {
    /// Registers this device for push notifications, until the session ends.
    ///
    /// - Parameter token: the device token in hexadecimal. It belongs to the last person who registered it.
    package func registerDevice(token: String, environment: PushEnvironment) async throws {
        try await perform(
            try HTTPRequest(
                "POST", to: ["devices"],
                body: [
                    "token": .string(token), "platform": .string("ios"),
                    "environment": .string(environment.rawValue),
                ]))
    }

    /// Unregisters a device. A token that is unknown, or another person's, is ignored.
    package func removeDevice(token: String) async throws {
        try await perform(try HTTPRequest("DELETE", to: ["devices", token]))
    }
}
