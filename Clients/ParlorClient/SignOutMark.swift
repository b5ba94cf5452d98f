import Foundation

/// A file that exists from the beginning of a sign-out to its end: the app may end in between. While it is
/// there, nothing that the person had on this device is read or added to.
struct SignOutMark: Sendable {
    let url: URL

    init(in folder: URL) { url = folder.appending(path: "signed-out") }

    var isSet: Bool { FileManager.default.fileExists(atPath: url.path) }

    func set() throws { try Data().write(to: url) }

    /// - Throws: the refusal `not_forgotten` while the mark is set.
    func check() throws {
        if isSet { throw Self.notForgotten("A sign-out was interrupted.") }
    }

    /// The failure of a start that finds what an interrupted sign-out has left, and cannot delete it.
    static func notForgotten(_ reason: String) -> ClientFailure {
        .refused(
            Refusal(
                code: "not_forgotten", message: "What is left of an earlier session cannot be deleted: \(reason)"))
    }
}
