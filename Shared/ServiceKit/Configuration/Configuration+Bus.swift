import Glibc
import MessageBus
import Reactor

extension Configuration {
    /// Connects to the bus of the settings `BUS_URL` and `BUS_TOKEN_FILE`, and waits for it to be there.
    ///
    /// - Parameter onTrouble: told why there is no connection, once for each reason.
    /// - Throws: `ConfigurationError`; `BusError` as `BusURL.connect`.
    func connectBus(
        name: String, on loop: EventLoop, onTrouble: @escaping @Sendable (String) -> Void
    ) async throws -> any MessageBus {
        try await busURL.connect(name: name, token: try busToken, on: loop, onTrouble: onTrouble)
    }

    var busURL: BusURL {
        get throws(ConfigurationError) {
            let text = text(Setting.bus.name)
            guard let url = BusURL(text) else {
                throw .malformed("BUS_URL (--bus) has to be tcp://HOST:PORT or nats://HOST:PORT, not \"\(text)\"")
            }
            return url
        }
    }

    /// The first line of the file that `BUS_TOKEN_FILE` names; nil if it names none.
    public var busToken: String? {
        get throws(ConfigurationError) {
            guard let path = optional(Setting.busTokenFile.name) else { return nil }
            guard let file = fopen(path, "r") else {
                throw .malformed("BUS_TOKEN_FILE: \(path) cannot be read: \(String(cString: strerror(errno)))")
            }
            defer { fclose(file) }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = fread(&bytes, 1, bytes.count, file)
            let token = String(decoding: bytes[..<count].prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
            guard !token.isEmpty else { throw .malformed("BUS_TOKEN_FILE: \(path) is empty") }
            return token
        }
    }
}
