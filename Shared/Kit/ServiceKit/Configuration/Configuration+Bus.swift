import ParlorMessageBus
import ParlorReactor
import ParlorSecurity

extension Configuration {
    /// Connects to the bus of the settings `BUS_URL` and `BUS_TOKEN_FILE`, and waits until it is available.
    ///
    /// - Parameter onWarning: receives each reason for a missing connection once.
    /// - Throws: `ConfigurationError`; the `BusError` of `BusURL.connect`.
    func connectBus(
        name: String, on loop: EventLoop, onWarning: @escaping @Sendable (String) -> Void
    ) async throws -> any MessageBus {
        try await self[.bus].connect(name: name, token: try busToken, on: loop, onWarning: onWarning)
    }

    /// The minimum length of a token. 16 bytes suffice even for a token that a person chose: it can only be
    /// guessed over the network.
    private static var minTokenLength: Int { 16 }

    /// The token in the file that `BUS_TOKEN_FILE` names; nil if it names none.
    public var busToken: String? {
        get throws(ConfigurationError) {
            try self[.busTokenFile].map { path throws(ConfigurationError) in
                try token(path, of: Setting.busTokenFile)
            }
        }
    }

    /// Reads the token in a file that a setting names.
    func token(_ path: String, of setting: any AnySetting) throws(ConfigurationError) -> String {
        let bytes = try secret(path, of: setting, minLength: Self.minTokenLength)
        guard let token = String(validating: bytes, as: UTF8.self), !token.utf8.contains(where: { $0 < 0x20 }) else {
            throw .malformed("\(setting.name) (\(setting.flag)): \(path) has to be one line of text")
        }
        return token
    }

    /// Reads the secret in a file that a setting names. Only its owner may have access to the file.
    public func secret(
        _ path: String, of setting: any AnySetting, minLength: Int, maxLength: Int = SecretFile.maxLength
    ) throws(ConfigurationError) -> [UInt8] {
        do throws(SecretFileError) {
            return try SecretFile.read(path, minLength: minLength, maxLength: maxLength)
        } catch {
            throw .malformed("\(setting.name) (\(setting.flag)): \(error)")
        }
    }
}
