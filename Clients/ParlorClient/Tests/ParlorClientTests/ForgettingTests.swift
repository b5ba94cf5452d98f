import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@MainActor
@Suite("RoomsClient: forgetting who signed out")
struct ForgettingTests {
    private let parent = TemporaryFolder()

    private func keep(_ path: String) throws {
        let url = parent.url.appending(path: path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data().write(to: url)
    }

    private func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: parent.url.appending(path: path).path)
    }

    @Test("the data of everybody whose sign-out was interrupted is deleted, and nobody else's")
    func interrupted() throws {
        let folders = ["outbox", "cache", "rooms", "boards", "receipts", "drafts"]
        for person in ["ada", "ben", "cy"] {
            for folder in folders { try keep("\(person)/\(folder)/file.json") }
        }
        try keep("ada/signed-out")
        try keep("cy/signed-out")
        try keep("ada/notes-of-the-app")
        try keep("session")
        try PersonFolder.forgetSignedOut(in: parent.url)
        for person in ["ada", "cy"] {
            #expect(!folders.contains { exists("\(person)/\($0)") }, "\(person)")
            #expect(!exists("\(person)/signed-out"))
        }
        #expect(folders.allSatisfy { exists("ben/\($0)/file.json") })
        #expect(exists("ada/notes-of-the-app") && exists("session"))
    }

    @Test("without a folder there is nothing to forget")
    func noFolder() throws { try PersonFolder.forgetSignedOut(in: parent.url.appending(path: "none")) }
}
