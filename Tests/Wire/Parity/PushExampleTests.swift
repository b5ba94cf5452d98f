import Foundation
import ParlorClient
import Testing

@Suite("The documentation of push")
struct PushExampleTests {
    @Test("the client library reads all of the example payload in docs/push.md")
    func example() throws {
        var root = URL(filePath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let document = try String(contentsOf: root.appending(path: "docs/push.md"), encoding: .utf8)
        let example = try #require(
            document.split(separator: "```json\n").dropFirst().first?.split(separator: "```").first)
        let found = try #require(PushedMessage(payload: Data(example.utf8)))
        #expect(found.seq == 12 && found.badge == 7 && found.senderID?.isEmpty == false)
        #expect(found.title == "Ada · Kitchen" && found.senderName == "Ada" && found.roomName == "Kitchen")
        #expect(found.body == "Tea is ready")
    }
}
