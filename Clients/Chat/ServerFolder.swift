import Foundation
import ParlorClient

/// The stored data of one server: a folder for each person who has signed in. Only the owner of the files can read it.
struct ServerFolder: Sendable {
    let url: URL

    init(_ options: ChatOptions) throws {
        url = options.folder.appending(path: options.server.serverFileName, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    func folder(of person: Person) -> PersonFolder {
        PersonFolder(url: url.appending(path: person.id), of: person.username)
    }

    /// Returns a person's folder; nil if nobody with this name is signed in.
    ///
    /// - Parameter username: nil for the person who was signed in last.
    func folder(of username: String?) -> PersonFolder? {
        let wanted = username?.lowercased()
        let folders = wanted == nil ? [last].compactMap(\.self) : (try? names) ?? []  // `try?`: unreadable is empty
        for name in folders where !name.hasPrefix(Self.signedOutPrefix) {
            let folder = PersonFolder(url: url.appending(path: name), of: username ?? "")
            guard let person = folder.session?.user, wanted == nil || person.username.lowercased() == wanted else {
                continue
            }
            return self.folder(of: person)
        }
        return nil
    }

    /// Makes this person the default for the next start.
    func noteLast(_ person: Person) throws { try Data(person.id.utf8).write(to: lastFile, options: .atomic) }

    private var lastFile: URL { url.appending(path: "last") }

    private var last: String? {
        guard let data = try? Data(contentsOf: lastFile) else { return nil }  // nobody has signed in yet
        return String(bytes: data, encoding: .utf8)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false)).sorted() }
    }

    // MARK: Signing out

    private static let signedOutPrefix = "signed-out-"

    /// Renames the folder of a person who signs out. The person is signed out from then on. Signing in again creates a
    /// new folder with the old name.
    func setAside(_ folder: PersonFolder) throws {
        let name = Self.signedOutPrefix + UUID().uuidString
        try FileManager.default.moveItem(at: folder.url, to: url.appending(path: name))
    }

    /// The renamed folders, whose sign-outs are not complete.
    var signedOut: [PersonFolder] {
        get throws {
            try names.filter { $0.hasPrefix(Self.signedOutPrefix) }
                .map { PersonFolder(url: url.appending(path: $0), of: "a person who has signed out") }
        }
    }
}
