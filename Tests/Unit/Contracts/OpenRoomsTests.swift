import ParlorContracts
import ParlorJSON
import Testing

@Suite("Encoding of open rooms")
struct OpenRoomsTests {
    private let question = OpenRoomQuestion(
        log: "messaging",
        members: [.init(roomID: "r1", userID: "ada"), .init(roomID: "r2", userID: "ben")])

    @Test("a question and its answer decode as they were encoded")
    func roundTrip() {
        #expect(OpenRoomQuestion(question.json) == question)
        let sockets = [[SocketEvidence(age: 5, confirmed: 7), SocketEvidence(age: 60_000, confirmed: 0)], []]
        #expect(question.sockets(in: OpenRoomQuestion.answer(sockets)) == sockets)
    }

    @Test(
        "malformed questions and answers are refused",
        arguments: ["null", "[]", "{}", #"{"stream":"m"}"#, #"{"stream":"m","rooms":[{"roomId":"r"}]}"#, #"[[[1,2]]]"#])
    func malformed(text: String) throws {
        let json = try JSONValue(parsing: text)
        #expect(OpenRoomQuestion(json) == nil)
        #expect(question.sockets(in: json) == nil)
    }
}
