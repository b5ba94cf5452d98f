import Testing

@testable import RoomViews

@Suite("Pauses of services that are late")
struct AnswerPausesTests {
    private let pauses = AnswerPauses()

    @Test("after some late answers in a row a service is not asked for a while; others are")
    func pause() {
        for _ in 0..<AnswerPauses.maxLate {
            #expect(pauses.mayAsk("slow.rooms"))
            pauses.note(isLate: true, "slow.rooms")
        }
        #expect(!pauses.mayAsk("slow.rooms") && pauses.mayAsk("quick.rooms"))
        pauses.note(isLate: false, "slow.rooms")
        #expect(pauses.mayAsk("slow.rooms"))
    }

    @Test("an answer in time between late ones ends the count")
    func inTime() {
        for _ in 0..<10 {
            for _ in 1..<AnswerPauses.maxLate { pauses.note(isLate: true, "rooms") }
            pauses.note(isLate: false, "rooms")
        }
        #expect(pauses.mayAsk("rooms"))
    }
}
