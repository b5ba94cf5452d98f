import Foundation
import ParlorClient
import Testing

import class ParlorClientTesting.TemporaryFolder

@testable import ParlorChat

@Suite("parlor-chat's folders of servers")
final class ServerFolderTests {
    private let folder = TemporaryFolder()

    private func path(_ server: String) throws -> String {
        let options = try ChatOptions([server, "--data", folder.path])
        return try ServerFolder(options).folder(of: Person(id: "1", username: "ada")).url.path(percentEncoded: false)
    }

    @Test("each server has its own folder, so no server gets another's tokens")
    func apart() throws {
        let servers = [
            "http://a-b:80", "http://a.b:80", "https://a.b:80", "http://a.b:8080", "http://a.b/c", "http://a.b/C",
            "http://a.b/c/d", "http://a.b/c-d", "http://a.b/c%2Fd", "http://[::1]",
        ]
        #expect(try Set(servers.map(path)).count == servers.count)
    }

    @Test("a server has one folder, however its address is written")
    func together() throws {
        for (one, other) in [("http://a.b", "http://A.B:80/"), ("https://a.b/c", "https://a.b:443/c//")] {
            #expect(try path(one) == path(other))
        }
    }
}
