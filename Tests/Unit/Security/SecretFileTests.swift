import Foundation
import ParlorSecurity
import ParlorTestSupport
import Testing

@Suite("A secret's file")
struct SecretFileTests {
    private let folder = TemporaryFolder()

    private var path: String { folder.file("secret") }

    private func write(_ text: String, mode: Int) throws {
        let made = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
        try #require(made)
    }

    @Test("is created once, for its owner alone, and found again; nothing else stays in the folder")
    func creation() throws {
        let secret = try SecretFile.loadOrCreate(path)
        #expect(secret.count >= 32)
        #expect(try SecretFile.loadOrCreate(path) == secret)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["secret"])
    }

    @Test("is the same for all processes that start at once")
    func race() async throws {
        let path = path
        let secrets = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<16 { group.addTask { try SecretFile.loadOrCreate(path) } }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(secrets.count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["secret"])
    }

    @Test("may be the operator's own, with or without a line end")
    func given() throws {
        let text = String(repeating: "s", count: 40)
        try write(text + "\r\n", mode: 0o400)
        #expect(try SecretFile.loadOrCreate(path) == Array(text.utf8))
    }

    @Test(
        "is refused if others can read it, with a message that says what to do",
        arguments: [0o644, 0o640, 0o604, 0o660])
    func readableByOthers(mode: Int) throws {
        try write(String(repeating: "s", count: 40), mode: mode)
        let error = #expect(throws: SecretFileError.self) { try SecretFile.loadOrCreate(path) }
        #expect(error?.description.contains("chmod 600 \(path)") == true)
    }

    @Test(
        "may be shorter if the reader permits it, but has to exist and be its owner's alone"
    )
    func read() throws {
        let text = String(repeating: "s", count: 16)
        #expect(throws: SecretFileError.self) { try SecretFile.read(path, minLength: 16) }
        try write(text + "\n", mode: 0o600)
        #expect(try SecretFile.read(path, minLength: 16) == Array(text.utf8))
        #expect(throws: SecretFileError.self) { try SecretFile.read(path, minLength: 17) }
        #expect(throws: SecretFileError.self) { try SecretFile.read(path, minLength: 1, maxLength: 15) }
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(throws: SecretFileError.self) { try SecretFile.read(path, minLength: 16) }
    }

    @Test("is refused if it is too short, too long, empty, a folder, or nowhere")
    func unusable() throws {
        for text in ["", "\n", "short", String(repeating: "s", count: 31), String(repeating: "s", count: 10_000)] {
            try write(text, mode: 0o600)
            #expect(throws: SecretFileError.self) { try SecretFile.loadOrCreate(path) }
        }
        #expect(throws: SecretFileError.self) { try SecretFile.loadOrCreate(folder.path) }
        #expect(throws: SecretFileError.self) { try SecretFile.loadOrCreate(folder.path + "/missing/secret") }
    }
}
