import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ParlorChat

@MainActor
@Suite("parlor-chat: rows of the list, and its status", .timeLimit(.minutes(1)))
struct RoomRowTests {
    private let harness: ChatHarness

    init() throws { harness = try ChatHarness() }

    @Test("unnamed rooms of the same people show when they were created, and what happened last")
    func unnamed() async throws {
        await harness.untilShown("› Plans  ben, 0 elements")
        await harness.clock.advance(by: .seconds(60))
        let first = harness.clock.now
        let roomID = try harness.server.makeRoom(by: harness.ben.id, with: harness.ada.id)
        await harness.clock.advance(by: .seconds(60))
        let second = harness.clock.now
        try harness.server.makeRoom(by: harness.ben.id, with: harness.ada.id)
        try harness.server.post("Hello", in: roomID, by: harness.ben.id)
        harness.press(.character("r"))
        func row(_ created: Date, _ activity: String, in text: String) -> Bool {
            text.split(separator: "\n").contains { line in
                line.contains("  created \(created.formatted(date: .numeric, time: .shortened)) ")
                    && line.contains("\(activity) ")
            }
        }
        await harness.untilShown { row(first, "✉", in: $0) && row(second, "✎", in: $0) }
        #expect(!harness.display.text.contains("Plans  created"))
        harness.press(.control("c"))
        await harness.untilOver()
    }

    @Test("a room with a message that was not sent says so")
    func notSent() async throws {
        await harness.untilShown("› Plans  ben, 0 elements")
        harness.server.refuseNext("message:send", with: Refusal(code: "forbidden", message: "Not you.", status: 403))
        harness.press(.enter)
        await harness.untilShown { $0.contains("\n> ") && !$0.contains("checking…") }
        harness.write("Never")
        await harness.untilShown("Not you.")
        harness.press(.escape)
        await harness.untilShown("  ! not sent  ")
        harness.press(.control("c"))
        await harness.untilOver()
    }

    @Test("a failure reads as the library words it")
    func failure() async {
        let status = StatusLine(harness.client)
        for failure in [ClientFailure.signedOut, .unreadable("?"), .offline("?")] {
            #expect(status.text(with: failure) == failure.errorDescription)
        }
        harness.press(.control("c"))
        await harness.untilOver()
    }
}
