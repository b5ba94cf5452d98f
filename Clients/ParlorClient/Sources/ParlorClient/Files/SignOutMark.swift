import Foundation

/// A file that exists during a sign-out. If the next start finds it, the app ended before the sign-out was complete.
///
/// While the file exists, `RoomFiles` reads and writes none of the person's other files.
struct SignOutMark: Sendable {
    let url: URL

    init(in folder: URL) { url = folder.appending(path: "signed-out") }

    var isSet: Bool { FileManager.default.fileExists(atPath: url.path) }

    func set() throws {
        FileSteps.note()
        try Data().write(to: url)
    }

    /// - Throws: the refusal `not_forgotten` while the mark is set.
    func check() throws {
        if isSet { throw Self.notForgotten("A sign-out was interrupted.") }
    }

    /// Returns the failure of a start that cannot delete the data of an interrupted sign-out.
    static func notForgotten(_ reason: String) -> ClientFailure {
        .refused(
            Refusal(
                code: "not_forgotten", message: "The data of an earlier session cannot be deleted: \(reason)"))
    }
}
