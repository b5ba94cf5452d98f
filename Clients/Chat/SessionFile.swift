import Foundation
import RoomsClient

/// Who is signed in on a server, kept between runs; readable by its owner alone.
struct SessionFile: Sendable {
    private let folder: URL
    private let file: URL

    struct Unknown: Error, CustomStringConvertible {
        var description: String { "nobody is signed in: --user NAME (and --register for a new account)" }
    }

    init(_ options: ChatOptions) throws {
        let server = options.server.absoluteString.map { $0.isLetter || $0.isNumber ? $0 : "-" }
        folder = options.folder.appending(path: String(server), directoryHint: .isDirectory)
        file = folder.appending(path: "session.json")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Where a person's messages are kept.
    func folder(of person: Person) -> URL { folder.appending(path: person.id, directoryHint: .isDirectory) }

    /// Whoever was signed in; or who is asked for, with a password.
    func session(_ options: ChatOptions, _ accounts: AccountsAPI) async throws -> Session {
        guard let username = options.username else {
            // A file that cannot be read is as good as none.
            guard let data = try? Data(contentsOf: file), let kept = try? JSONDecoder().decode(Session.self, from: data)
            else { throw Unknown() }
            return kept
        }
        let password = ProcessInfo.processInfo.environment["PARLOR_PASSWORD"] ?? Terminal.askForPassword(of: username)
        let session =
            options.registers
            ? try await accounts.register(username: username, password: password)
            : try await accounts.logIn(username: username, password: password)
        keep(session)
        return session
    }

    func keep(_ session: Session?) {
        do {
            guard let session else { return try FileManager.default.removeItem(at: file) }
            try JSONEncoder().encode(session).write(to: file, options: .atomic)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: file.path(percentEncoded: false))
        } catch {
            ChatCommand.complain("the session is not kept: \(error.localizedDescription)")
        }
    }

    func removeAll() throws { try FileManager.default.removeItem(at: folder) }
}
