import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKitTesting
import Testing

@Suite("The history of a room")
struct HistoryTests {
    @Test("the newest page is the default, the page next to a `seq` is on request, always oldest first")
    func pages() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            for _ in 0..<55 { _ = try await harness.send(by: "alice", in: room) }
            func seqs(_ query: KeyValuePairs<String, String> = [:]) async throws -> [Int?] {
                try await harness.list(by: "bob", in: room, query).messages.ints("seq")
            }
            #expect(try await seqs() == Array(6...55))
            #expect(try await seqs(["limit": "2"]) == [54, 55])
            #expect(try await seqs(["before": "6", "limit": "2"]) == [4, 5])
            #expect(try await seqs(["after": "6", "limit": "2"]) == [7, 8])
            #expect(try await seqs(["after": "6", "before": "9"]) == [7, 8])
            #expect(try await seqs(["after": "0", "limit": "200"]) == Array(1...55))
            #expect(try await seqs(["before": "1"]) == [])
            #expect(try await seqs(["before": "-1"]) == [])
            #expect(try await seqs(["after": "55"]) == [])
            #expect(try await seqs(["after": String(Int.max)]) == [])
            #expect(try await seqs(["after": String(Int.min), "limit": "1"]) == [1])
            #expect(try await seqs(["limit": "0"]) == [55])
        }
    }

    @Test(
        "a malformed number is refused", arguments: ["abc", "1.5", "0x10", "", String(repeating: "9", count: 30)])
    func badNumbers(number: String) async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            for name in ["before", "after"] {
                let refusal = await failure {
                    try await harness.ask("messaging.list", by: "bob") {
                        $0.member("roomId", room)
                        $0.member(name, number)
                    }
                }
                #expect(refusal?.code == .malformedRequest)
            }
        }
    }

    @Test(
        "following `page.next` either way gives every message once, past deleted ones", arguments: [1, 7, 25, 26, 200])
    func walk(limit: Int) async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            var ids: [String] = []
            for _ in 0..<28 { ids.append(try await harness.sent(by: "alice", in: room)) }
            for index in [27, 12, 0] { _ = try await harness.delete(ids.remove(at: index), by: "alice", in: room) }

            var (page, next) = try await harness.list(by: "bob", in: room, ["limit": "\(limit)"])
            var back = page
            while let before = next {
                (page, next) = try await harness.list(by: "bob", in: room, ["limit": "\(limit)", "before": before])
                back = page + back
            }
            #expect(back.strings("id") == ids)

            (page, next) = try await harness.list(by: "bob", in: room, ["limit": "\(limit)", "after": "0"])
            var forth = page
            while let after = next {
                (page, next) = try await harness.list(by: "bob", in: room, ["limit": "\(limit)", "after": after])
                forth += page
            }
            #expect(forth.strings("id") == ids)
        }
    }

    @Test("pages of the longest texts are shorter, so that each fits a line of the bus, and none is left out")
    func longTexts() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            // Of the texts that are allowed these take the most room: four bytes a character, or two once escaped.
            let texts = ["🎉", "\""].map { String(repeating: $0, count: 4000) }
            for number in 0..<60 { _ = try await harness.send(texts[number % 2], by: "alice", in: room) }
            for isConversation in [false, true] {
                var seqs: [Int?] = []
                var next: String?
                repeat {
                    let query: KeyValuePairs = next.map { ["limit": "200", "before": $0] } ?? ["limit": "200"]
                    let page =
                        isConversation
                        ? try await harness.conversation(of: "bob", with: "alice", query)
                        : try await harness.list(by: "bob", in: room, query)
                    #expect(page.messages.reduce(0) { $0 + $1.bytes.count } < BusLimits.maxLine)
                    seqs = page.messages.ints("seq") + seqs
                    next = page.next
                } while next != nil
                #expect(seqs == Array(1...60))
            }
        }
    }

    @Test("a page of messages with the longest names and keys fits a line of the bus")
    func longNames() async throws {
        try await MessagingHarness.serving { harness in
            let emoji = { String(repeating: "🎉", count: $0) }
            let room = harness.rooms.make("room", "alice", "bob", firstName: emoji(100))
            let text = String(repeating: "\"", count: 1050)
            for number in 100..<300 {
                _ = try await harness.send(text, by: "alice", in: room, tempID: emoji(61) + "\(number)")
            }
            let page = try await harness.list(by: "bob", in: room, ["limit": "200"])
            #expect(page.messages.count > 150 && page.next != nil)
            #expect(page.messages.reduce(0) { $0 + $1.bytes.count + 1 } < 1_000_000)
        }
    }
}
