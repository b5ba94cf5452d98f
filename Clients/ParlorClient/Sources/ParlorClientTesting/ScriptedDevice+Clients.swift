import Foundation
import ParlorClient

/// An app on a device: the account or the client uses the device's network and the server's clock.
extension ScriptedDevice {
    /// Makes an account, as an app does at its launch. A second account with the same folder is the next launch of the
    /// app: release the first one before.
    ///
    /// - Parameter folder: the parent of each person's folder; it also has the session.
    @MainActor
    public func makeAccount(
        folder: URL, settings: RoomsClient.Settings = RoomsClient.Settings(),
        clearNotifications: @escaping @MainActor () async -> Void = {}
    ) -> ParlorAccount {
        makeAccount(keptIn: nil, folder: folder, settings: settings, clearNotifications: clearNotifications)
    }

    /// Makes an account with a store of its own.
    @MainActor
    package func makeAccount(
        keptIn store: (any SessionStore)?, folder: URL, settings: RoomsClient.Settings = RoomsClient.Settings(),
        clearNotifications: @escaping @MainActor () async -> Void = {}
    ) -> ParlorAccount {
        ParlorAccount(
            server: Self.address, store: store ?? FileSessionStore(url: folder.appending(path: "session")),
            folder: folder, http: self, sockets: self, clock: server.clock, settings: settings,
            clearNotifications: clearNotifications)
    }

    /// Makes the client of a person who is always signed in.
    @MainActor
    public func makeClient(
        of person: Person, folder: URL, settings: RoomsClient.Settings = RoomsClient.Settings()
    ) -> RoomsClient {
        makeClient(of: person, folder: folder, tokens: nil, settings: settings)
    }

    /// Makes a client with other parts than the device's network and tokens that never expire.
    @MainActor
    package func makeClient(
        of person: Person, folder: URL, tokens: (any TokenProvider)? = nil, http: (any HTTPTransport)? = nil,
        sockets: (any SocketTransport)? = nil, paths: (any NetworkPaths)? = nil,
        settings: RoomsClient.Settings = RoomsClient.Settings()
    ) -> RoomsClient {
        RoomsClient(
            server: Self.address, user: person, tokens: tokens ?? ScriptedTokens(of: person, on: server),
            http: http ?? self, sockets: sockets ?? self, clock: server.clock, folder: folder, paths: paths,
            settings: settings)
    }

    /// It is never contacted, because the device is the network.
    private static let address = URL(filePath: "/")
}
